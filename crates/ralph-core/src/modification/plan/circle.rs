//! Tasks that wait for each other.

use std::collections::HashMap;

use super::Known;

/// How far the walk has come with a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    /// On the way from a start to here.
    Open,
    /// Everything it waits for is seen, without a circle.
    Closed,
}

/// A circle that can be reached from `starts`, its first name again at the end. `graph` tells what a
/// name stands for; a name that stands for nothing waits for nothing. Each task is visited once.
pub(super) fn circle(
    starts: impl IntoIterator<Item = String>,
    graph: &dyn Fn(&str) -> Option<Known>,
) -> Option<Vec<String>> {
    let mut seen: HashMap<String, Seen> = HashMap::new();
    for start in starts {
        // The way from the start to here; what is left of a task's list is still to be visited.
        let mut way: Vec<Known> = Vec::new();
        let mut next = Some(start);
        loop {
            if let Some(known) = next.take().and_then(|name| graph(&name)) {
                match seen.get(&known.name) {
                    Some(Seen::Open) => return Some(around(&way, known.name)),
                    Some(Seen::Closed) => {}
                    None => {
                        seen.insert(known.name.clone(), Seen::Open);
                        way.push(known);
                    }
                }
            }
            let Some(here) = way.last_mut() else { break };
            next = here.waits_for.pop();
            if next.is_none()
                && let Some(done) = way.pop()
            {
                seen.insert(done.name, Seen::Closed);
            }
        }
    }
    None
}

/// The part of the way that begins with `name`, and `name` again.
fn around(way: &[Known], name: String) -> Vec<String> {
    let names = way.iter().map(|known| known.name.clone());
    names
        .skip_while(|other| *other != name)
        .chain([name.clone()])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Known, circle};

    fn find(edges: &[(&str, &[&str])], starts: &[&str]) -> Option<Vec<String>> {
        let graph = |name: &str| {
            let (name, waits_for) = edges.iter().find(|(other, _)| *other == name)?;
            let waits_for = waits_for.iter().map(|name| (*name).to_owned()).collect();
            Some(Known {
                name: (*name).to_owned(),
                waits_for,
            })
        };
        circle(starts.iter().map(|start| (*start).to_owned()), &graph)
    }

    #[test]
    fn plan_02_circles_are_found_and_named() {
        assert_eq!(
            find(
                &[("a", &["b", "x"]), ("b", &["x"]), ("x", &[])],
                &["a", "b"]
            ),
            None
        );
        assert_eq!(find(&[("a", &["a"])], &["a"]).unwrap(), ["a", "a"]);
        let edges: [(&str, &[&str]); 3] = [("s", &["a"]), ("a", &["b"]), ("b", &["unknown", "a"])];
        assert_eq!(find(&edges, &["s"]).unwrap(), ["a", "b", "a"]);
        assert_eq!(find(&edges, &["unknown"]), None);
    }

    #[test]
    fn plan_02_long_chains_need_no_stack() {
        let graph = |name: &str| {
            let number: u32 = name.parse().ok()?;
            Some(Known {
                name: name.to_owned(),
                waits_for: vec![(number + 1).to_string()],
            })
        };
        let chain = |name: &str| graph(name).filter(|known| known.name != "300000");
        assert_eq!(circle(["0".to_owned()], &chain), None);
    }
}
