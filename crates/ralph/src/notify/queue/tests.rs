//! Slow, failing and dying senders.

use std::sync::Mutex;

use ralph_core::model::Timestamp;

use super::*;
use crate::notify::sender::Delivery;
use crate::notify::{Occasion, Place, notice, sample};

fn parcel() -> Parcel {
    let place = Place {
        name: "p".into(),
        root: "/p".into(),
        host: "h".into(),
    };
    let event = sample(Occasion::Done, Timestamp::from_secs(0));
    Parcel::new(notice(&event, &place).unwrap(), &mut || 0)
}

/// A sender that takes some time and then says what it is to say.
struct Fake {
    takes: Duration,
    patience: Duration,
    answer: Result<Delivery, String>,
    sent: Arc<Mutex<usize>>,
}

impl Fake {
    /// One, and how many notices it has dealt with.
    fn boxed(
        takes: Duration,
        answer: Result<Delivery, String>,
    ) -> (Box<dyn Sender>, Arc<Mutex<usize>>) {
        let sent = Arc::new(Mutex::new(0));
        let fake = Self {
            takes,
            patience: Duration::from_millis(300),
            answer,
            sent: Arc::clone(&sent),
        };
        (Box::new(fake), sent)
    }
}

impl Sender for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn target(&self) -> Option<String> {
        Some("somewhere".into())
    }

    fn patience(&self) -> Duration {
        self.patience
    }

    fn send(&self, _parcel: &Parcel, cutoff: &Cutoff) -> Result<Delivery, String> {
        cutoff.wait(self.takes);
        *self.sent.lock().unwrap() += 1;
        self.answer.clone()
    }
}

fn finish(queues: Queues, told_to_stop: bool) -> (Vec<String>, Duration) {
    let mut told = Vec::new();
    let started = Instant::now();
    queues.finish(&|| told_to_stop, &mut |text| told.push(text.to_owned()));
    (told, started.elapsed())
}

#[test]
fn everything_that_was_posted_is_sent_before_the_end() {
    let (fake, sent) = Fake::boxed(Duration::from_millis(5), Ok(Delivery::Sent));
    let queues = Queues::start(vec![fake]);
    for _ in 0..5 {
        queues.post(parcel());
    }
    let (told, _) = finish(queues, false);
    assert_eq!((*sent.lock().unwrap(), told), (5, Vec::new()));
}

#[test]
fn the_same_failure_is_told_once() {
    let (fake, _) = Fake::boxed(Duration::ZERO, Err("it answered 400".into()));
    let queues = Queues::start(vec![fake]);
    for _ in 0..5 {
        queues.post(parcel());
    }
    let (told, _) = finish(queues, false);
    let expected = "warning: a notice (done) was not sent: fake somewhere: it answered 400";
    assert_eq!(told, [expected]);
}

#[test]
fn posting_never_waits_and_a_slow_one_holds_up_neither_the_others_nor_the_end() {
    let (slow, _) = Fake::boxed(Duration::from_secs(60), Ok(Delivery::Sent));
    let (quick, sent) = Fake::boxed(Duration::ZERO, Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![slow, quick]);
    let started = Instant::now();
    for n in 1..=ROOM + 10 {
        queues.post(parcel());
        // The quick one keeps up.
        while *sent.lock().unwrap() < n {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(started.elapsed() < Duration::from_secs(30));
    let full = "a notice (done) was not sent: fake: too many wait already";
    assert_eq!(queues.failures(), [full]);
    let (told, took) = finish(queues, false);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(
        told.iter().any(|text| text.contains("not sent in time")),
        "{told:?}"
    );
    assert_eq!(*sent.lock().unwrap(), ROOM + 10);
}

#[test]
fn whoever_is_told_to_stop_waits_less() {
    let (slow, _) = Fake::boxed(Duration::from_secs(60), Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![slow]);
    queues.workers[0].patience = Duration::from_secs(60);
    queues.post(parcel());
    let (told, took) = finish(queues, true);
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(
        told[0].contains("sending notices (fake), for 2s at most"),
        "{told:?}"
    );
    assert_eq!(told[1], "warning: 1 notice not sent in time: fake");
}

#[test]
fn a_sender_that_dies_does_not_hold_up_the_end() {
    struct Dies;
    impl Sender for Dies {
        fn name(&self) -> &'static str {
            "dies"
        }
        fn patience(&self) -> Duration {
            Duration::from_secs(60)
        }
        fn send(&self, _parcel: &Parcel, _cutoff: &Cutoff) -> Result<Delivery, String> {
            panic!("as it does in this test");
        }
    }
    let queues = Queues::start(vec![Box::new(Dies)]);
    queues.post(parcel());
    let (_, took) = finish(queues, false);
    assert!(took < Duration::from_secs(10), "{took:?}");
}
