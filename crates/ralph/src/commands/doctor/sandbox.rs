//! What this machine offers to confine an agent with. Good to know, nothing more.

use std::path::Path;

use ralph_core::which::{find, search_path};

use super::finding::{Check, Finding};

/// Programs that can confine another.
#[cfg(target_os = "macos")]
const PROGRAMS: [&str; 2] = ["sandbox-exec", "docker"];
#[cfg(not(target_os = "macos"))]
const PROGRAMS: [&str; 3] = ["bwrap", "docker", "podman"];

/// Whether something is there, where that can be seen.
type Seen = Option<bool>;

/// What the machine offers.
pub fn finding(dir: &Path) -> Finding {
    let search = search_path();
    let programs = PROGRAMS.map(|program| {
        let there = find(program, dir, search.as_ref()).is_some();
        (program, Some(there))
    });
    let mut offers = Vec::new();
    if cfg!(target_os = "linux") {
        offers.push(("user namespaces", user_namespaces(read_number)));
        offers.push(("landlock", landlock()));
    }
    offers.extend(programs);
    judge(&offers)
}

/// Whether anybody may make a user namespace: room for some, and nothing that forbids it.
fn user_namespaces(read: impl Fn(&str) -> Option<i64>) -> Seen {
    let room = read("/proc/sys/user/max_user_namespaces")?;
    let allowed = read("/proc/sys/kernel/unprivileged_userns_clone").unwrap_or(1);
    let restricted = read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").unwrap_or(0);
    Some(room > 0 && allowed != 0 && restricted == 0)
}

fn read_number(path: &str) -> Option<i64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn landlock() -> Seen {
    let modules = std::fs::read_to_string("/sys/kernel/security/lsm").ok()?;
    Some(modules.trim().split(',').any(|name| name == "landlock"))
}

fn judge(offers: &[(&str, Seen)]) -> Finding {
    let of = |wanted: Seen| {
        let names = offers.iter().filter(|(_, seen)| *seen == wanted);
        let names: Vec<&str> = names.map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let parts = [
        (of(Some(true)), ""),
        (of(Some(false)), "not installed: "),
        (of(None), "unknown: "),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, label)| format!("{label}{names}"))
        .collect();
    Finding::ok(Check::Sandbox, parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers_are_told_apart() {
        let finding = judge(&[
            ("a", Some(true)),
            ("b", Some(false)),
            ("c", None),
            ("d", Some(true)),
        ]);
        assert_eq!(finding.message, "a, d; not installed: b; unknown: c");
    }

    #[test]
    fn namespaces_need_room_and_permission() {
        let seen = |room: Option<i64>, clone: Option<i64>, restricted: Option<i64>| {
            user_namespaces(|path| match path {
                "/proc/sys/user/max_user_namespaces" => room,
                "/proc/sys/kernel/unprivileged_userns_clone" => clone,
                _ => restricted,
            })
        };
        assert_eq!(seen(None, None, None), None);
        assert_eq!(seen(Some(100), None, None), Some(true));
        assert_eq!(seen(Some(0), None, None), Some(false));
        assert_eq!(seen(Some(100), Some(0), None), Some(false));
        assert_eq!(seen(Some(100), Some(1), Some(1)), Some(false));
    }
}
