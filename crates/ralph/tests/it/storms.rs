//! Storms: Ralph is killed with kill -9 again and again. What every storm shares: its size, its progress and its bound.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::support::Project;

/// Every so many kills a storm says where it stands.
const TELL_EVERY: u32 = 100;
/// A storm whose runs end before they can be killed gives up after so many rounds per kill.
const ROUNDS_PER_KILL: u32 = 20;
/// A storm gives up after this long per kill, and never earlier than [`LEAST`]. Far more than a loaded machine needs.
const TIME_PER_KILL: Duration = Duration::from_secs(20);
const LEAST: Duration = Duration::from_secs(600);

/// A storm under way: counts, tells of progress, and ends within a bound.
pub struct Storm {
    name: &'static str,
    size: u32,
    kills: u32,
    rounds: u32,
    attempts: usize,
    commits: usize,
    started: Instant,
    /// How far into a run the kills go.
    reach: Duration,
}

impl Storm {
    /// A storm of so many kills: a tenth of them, unless `RALPH_STORM=full` asks for all.
    pub fn new(name: &'static str, full: u32) -> Self {
        let size = match std::env::var("RALPH_STORM").as_deref() {
            Ok("full") => full,
            _ => full.div_ceil(10),
        };
        Self::of(name, size)
    }

    /// A storm of exactly so many kills.
    pub fn of(name: &'static str, size: u32) -> Self {
        Self {
            name,
            size,
            kills: 0,
            rounds: 0,
            attempts: 0,
            commits: 0,
            started: Instant::now(),
            reach: Duration::ZERO,
        }
    }

    /// How many kills are left.
    pub fn rest(&self) -> u32 {
        self.size.saturating_sub(self.kills)
    }

    /// Begins the next round, unless Ralph was killed often enough.
    #[track_caller]
    pub fn goes_on(&mut self) -> bool {
        if self.rest() == 0 {
            return false;
        }
        self.rounds += 1;
        let is_late = self.started.elapsed() > LEAST.max(TIME_PER_KILL * self.size);
        let is_stuck = self.rounds > 100 + ROUNDS_PER_KILL * self.size;
        assert!(!is_late && !is_stuck, "gave up: {}", self.counts());
        true
    }

    /// Takes the time of a whole run, which depends on the machine: the kills go so many parts of it far.
    pub fn measure(&mut self, parts: u32, whole: impl FnOnce()) {
        let started = Instant::now();
        whole();
        self.reach = started.elapsed() / parts;
    }

    /// How long the next run lives: it ends anywhere from before its database is open to some attempts in.
    pub fn life(&self, random: &mut fastrand::Rng) -> Duration {
        self.reach.mul_f64(random.f64())
    }

    /// Ralph was killed once more.
    pub fn killed(&mut self) {
        self.kills += 1;
        if self.kills.is_multiple_of(TELL_EVERY) {
            self.tell("");
        }
    }

    /// Adds what one project of the storm has on record.
    pub fn add(&mut self, project: &Project) {
        self.attempts += project.history().len();
        if project.path(".git").exists() {
            let count = project.git(&["rev-list", "--all", "--count"]);
            self.commits += count.trim().parse::<usize>().unwrap();
        }
    }

    /// Says what the storm came to.
    pub fn end(self) {
        let (attempts, commits) = (self.attempts, self.commits);
        self.tell(&format!(", {attempts} attempts, {commits} commits: ended"));
    }

    /// Past the test harness, which shows what tests print only when they fail.
    fn tell(&self, more: &str) {
        let _ = writeln!(std::io::stderr(), "{}{more}", self.counts());
    }

    fn counts(&self) -> String {
        format!(
            "storm {}: {} of {} kills, {} rounds, {} s",
            self.name,
            self.kills,
            self.size,
            self.rounds,
            self.started.elapsed().as_secs()
        )
    }
}
