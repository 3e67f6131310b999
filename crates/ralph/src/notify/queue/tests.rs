//! Slow, failing and dying senders.

use std::sync::Mutex;

use ralph_core::model::Timestamp;

use super::*;
use crate::notify::channels::Delivery;
use crate::notify::{Occasion, Place, notice, sample};

fn parcel() -> Message {
    parcel_of(Occasion::Done)
}

fn parcel_of(occasion: Occasion) -> Message {
    let place = Place { name: "p".into(), root: "/p".into(), host: "h".into() };
    let event = sample(occasion, Timestamp::from_secs(0));
    Message::new(notice(&event, &place).unwrap(), &mut || 0).unwrap()
}

type Sent = Arc<Mutex<Vec<Occasion>>>;

fn channel(
    name: &'static str,
    send: impl Fn(&Message, &Cutoff) -> Result<Delivery, String> + Send + 'static,
) -> Channel {
    Channel { name, target: None, has_process: false, send: Box::new(send) }
}

/// A channel that takes some time and then answers as it is told to.
fn fake(takes: Duration, answer: Result<Delivery, String>) -> (Channel, Sent) {
    let sent = Sent::default();
    let record = Arc::clone(&sent);
    let fake = channel("fake", move |parcel, cutoff| {
        cutoff.wait(takes);
        if cutoff.is_over() {
            return Err("cut short".into());
        }
        record.lock().unwrap().push(parcel.notice.occasion);
        answer.clone()
    });
    (Channel { target: Some("somewhere".into()), ..fake }, sent)
}

fn finish(queues: Queues, told_to_stop: bool) -> (Vec<String>, Duration) {
    let mut told = Vec::new();
    let started = Instant::now();
    queues.finish(&|| told_to_stop, &mut |text| told.push(text.to_owned()));
    (told, started.elapsed())
}

#[test]
fn everything_that_was_posted_is_sent_before_the_end() {
    let (channel, sent) = fake(Duration::from_millis(5), Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![channel]);
    for _ in 0..5 {
        queues.post(parcel());
    }
    let (told, _) = finish(queues, false);
    assert_eq!((sent.lock().unwrap().len(), told), (5, Vec::new()));
}

#[test]
fn everything_that_waits_gets_the_time_that_its_own_limits_allow() {
    let (channel, sent) = fake(Duration::from_millis(250), Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![channel]);
    for _ in 0..5 {
        queues.post(parcel_of(Occasion::Blocked));
    }
    queues.post(parcel());
    let (told, _) = finish(queues, false);
    let warnings = told.iter().filter(|text| text.contains("warning")).count();
    assert_eq!((sent.lock().unwrap().len(), warnings), (6, 0), "{told:?}");
    assert_eq!(sent.lock().unwrap().last(), Some(&Occasion::Done), "in order");
}

#[test]
fn the_end_of_the_run_is_sent_although_there_is_no_time_for_all() {
    let (channel, sent) = fake(Duration::from_millis(250), Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![channel]);
    queues.longest_wait = Duration::from_millis(1500);
    for _ in 0..20 {
        queues.post(parcel_of(Occasion::Blocked));
    }
    queues.post(parcel());
    let (told, _) = finish(queues, false);
    let sent = sent.lock().unwrap();
    assert!(sent.contains(&Occasion::Done), "{sent:?}");
    assert_eq!(sent[0], Occasion::Blocked, "in order as long as there is time");
    let unsent = format!("warning: {} notifications not sent in time: fake", 21 - sent.len());
    assert_eq!(told.last(), Some(&unsent), "{told:?}");
}

/// One notice may take longer than everybody waits at the end.
#[test]
fn a_notice_without_end_makes_way_for_the_end_of_the_run() {
    let sent = Sent::default();
    let record = Arc::clone(&sent);
    let hangs_at_first = channel("hangs", move |parcel, cutoff| {
        if parcel.notice.occasion != Occasion::Done {
            cutoff.wait(Duration::from_secs(60));
            return Err("cut short".into());
        }
        record.lock().unwrap().push(parcel.notice.occasion);
        Ok(Delivery::Sent)
    });
    let mut queues = Queues::start(vec![hangs_at_first]);
    queues.longest_wait = Duration::from_secs(1);
    queues.post(parcel_of(Occasion::Blocked));
    queues.post(parcel_of(Occasion::Limit));
    queues.post(parcel());
    let (told, took) = finish(queues, false);
    assert_eq!(*sent.lock().unwrap(), [Occasion::Done]);
    assert_eq!(told, ["warning: 2 notifications not sent in time: hangs"]);
    assert!(took < Duration::from_secs(120), "{took:?}");
}

#[test]
fn the_same_failure_is_told_once() {
    let (channel, _) = fake(Duration::ZERO, Err("it answered 400".into()));
    let mut queues = Queues::start(vec![channel]);
    for _ in 0..5 {
        queues.post(parcel());
    }
    let (told, _) = finish(queues, false);
    let expected = "warning: cannot send the notification `done`: fake somewhere: it answered 400";
    assert_eq!(told, [expected]);
}

#[test]
fn posting_never_waits_and_a_slow_one_holds_up_neither_the_others_nor_the_end() {
    const MANY: usize = 40;
    let (slow, _) = fake(Duration::from_secs(600), Ok(Delivery::Sent));
    let (quick, sent) = fake(Duration::ZERO, Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![slow, quick]);
    queues.longest_wait = Duration::from_secs(1);
    let started = Instant::now();
    for n in 1..=MANY {
        queues.post(parcel());
        // The quick one keeps up.
        while sent.lock().unwrap().len() < n {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(started.elapsed() < Duration::from_secs(120));
    let (told, took) = finish(queues, false);
    assert!(took < Duration::from_secs(120), "{took:?}");
    assert!(told.iter().any(|text| text.contains("not sent in time")), "{told:?}");
    assert_eq!(sent.lock().unwrap().len(), MANY);
}

#[test]
fn whoever_is_told_to_stop_waits_less() {
    let (slow, _) = fake(Duration::from_secs(600), Ok(Delivery::Sent));
    let mut queues = Queues::start(vec![slow]);
    queues.post(parcel());
    let (told, took) = finish(queues, true);
    assert!(took < Duration::from_secs(120), "{took:?}");
    assert!(told[0].contains("sending notifications (fake), up to 2 s"), "{told:?}");
    assert_eq!(told[1], "warning: 1 notification not sent in time: fake");
}

#[test]
fn a_sender_that_dies_does_not_hold_up_the_end() {
    let dies = channel("dies", |_, _| panic!("as it does in this test"));
    let mut queues = Queues::start(vec![dies]);
    queues.post(parcel());
    let (_, took) = finish(queues, false);
    assert!(took < Duration::from_secs(120), "{took:?}");
}
