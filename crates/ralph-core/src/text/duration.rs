//! Durations as people say them.

use std::time::Duration;

/// A duration in one or two units: `30 min`, `1 h 30 min`, `45 s`, `200 ms`.
#[must_use]
pub fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
    let two = |first: u64, unit: &str, second: u64, part: &str| match second {
        0 => format!("{first} {unit}"),
        _ => format!("{first} {unit} {second} {part}"),
    };
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{seconds} s"),
        60..3600 => two(minutes, "min", seconds % 60, "s"),
        _ => two(hours, "h", minutes, "min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_in_one_or_two_units() {
        for (millis, said) in [
            (200, "200 ms"),
            (45_000, "45 s"),
            (60_000, "1 min"),
            (90_000, "1 min 30 s"),
            (1_800_000, "30 min"),
            (7_200_000, "2 h"),
            (5_400_000, "1 h 30 min"),
        ] {
            assert_eq!(duration(Duration::from_millis(millis)), said);
        }
    }
}
