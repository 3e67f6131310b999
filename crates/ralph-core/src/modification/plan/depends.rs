//! Who waits for whom once a change is made.

use std::collections::HashMap;

use super::circle::circle;
use super::{Dependency, Known, Limits, PlannedTask, Refusal, Standing};
use crate::modification::quoted::quoted;
use crate::modification::request::{Kind, Request};

/// Names of a circle that are shown: enough to see where to cut it.
const SHOWN: usize = 8;

/// The new tasks and what each waits for, in the order of the request.
pub(super) struct Graph<'a> {
    standing: &'a Standing<'a>,
    /// Tasks of the plan that will wait for every new one.
    waiting: Vec<String>,
    nodes: Vec<Node>,
    index: HashMap<String, usize>,
}

/// One new task.
struct Node {
    key: String,
    depends: Vec<Dependency>,
    /// Whether the request says what it depends on.
    told: bool,
}

impl<'a> Graph<'a> {
    /// Looks up every dependency that the request names.
    pub(super) fn new(
        request: &Request,
        standing: &'a Standing<'a>,
        tasks: &[PlannedTask],
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        let known = |name: &str| (standing.plan)(name).map_or_else(|| name.to_owned(), |k| k.name);
        let original = known(standing.id);
        let parent = standing.parent.map(known);
        let waiting = match request.kind {
            Kind::SplitTask => vec![original.clone()],
            Kind::AddPrerequisite => parent.into_iter().chain([original.clone()]).collect(),
            Kind::AddFollowup => parent.into_iter().collect(),
        };
        let index = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| (task.key.clone(), at))
            .collect();
        let mut graph = Self {
            standing,
            waiting,
            nodes: Vec::new(),
            index,
        };
        for (at, (proposed, task)) in request.proposed.iter().zip(tasks).enumerate() {
            let told = proposed.depends.as_deref();
            let mut depends = Vec::new();
            if request.kind == Kind::AddFollowup {
                depends.push(Dependency::Existing(original.clone()));
            }
            for name in told.unwrap_or_default().iter().map(|name| name.trim()) {
                let found =
                    graph
                        .find(name, &original)
                        .ok_or_else(|| Refusal::UnknownDependency {
                            position: at + 1,
                            name: quoted(name),
                        })?;
                if !depends.contains(&found) {
                    depends.push(found);
                }
                if depends.len() > limits.dependencies {
                    let (what, limit) = ("a number of dependencies", limits.dependencies);
                    return Err(Refusal::TooLong {
                        position: at + 1,
                        what,
                        limit,
                    });
                }
            }
            graph.nodes.push(Node {
                key: task.key.clone(),
                depends,
                told: told.is_some(),
            });
        }
        Ok(graph)
    }

    /// What a name in a request stands for. Keys of new tasks are in nobody's use, so there is no
    /// doubt which is meant.
    fn find(&self, name: &str, original: &str) -> Option<Dependency> {
        if self.index.contains_key(name) {
            return Some(Dependency::New(name.to_owned()));
        }
        if self.standing.is_named(name) {
            return Some(Dependency::Existing(original.to_owned()));
        }
        (self.standing.plan)(name).map(|known| Dependency::Existing(known.name))
    }

    /// Refuses a change that would close a circle, among the new tasks or through the plan.
    pub(super) fn refuse_circles(&self) -> Result<(), Refusal> {
        let keys = self.nodes.iter().map(|node| node.key.clone());
        match circle(keys, &|name| self.after_the_change(name)) {
            None => Ok(()),
            Some(path) => Err(Refusal::Circle { path: shown(&path) }),
        }
    }

    /// A task and what it will wait for.
    fn after_the_change(&self, name: &str) -> Option<Known> {
        if let Some(node) = self.index.get(name).and_then(|&at| self.nodes.get(at)) {
            let waits_for = node
                .depends
                .iter()
                .map(|other| other.name().to_owned())
                .collect();
            return Some(Known {
                name: node.key.clone(),
                waits_for,
            });
        }
        let mut known = (self.standing.plan)(name).unwrap_or_else(|| Known {
            name: name.to_owned(),
            waits_for: Vec::new(),
        });
        if self.waiting.contains(&known.name) {
            known
                .waits_for
                .extend(self.nodes.iter().map(|node| node.key.clone()));
        }
        Some(known)
    }

    /// The new tasks in an order in which each comes after those it depends on, and otherwise as the
    /// request has them. There are few of them, so the plainest way will do.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = Vec::new();
        let is_ready = |node: &Node, order: &[usize]| {
            node.depends.iter().all(|other| match other {
                Dependency::New(key) => self.index.get(key).is_some_and(|at| order.contains(at)),
                Dependency::Existing(_) => true,
            })
        };
        while let Some((at, _)) = self
            .nodes
            .iter()
            .enumerate()
            .find(|(at, node)| !order.contains(at) && is_ready(node, &order))
        {
            order.push(at);
        }
        order
    }

    /// Lets each task of which nothing is told wait for the one before it. This closes no circle: among
    /// themselves the tasks then wait only for earlier ones, and what waits for one of them in the plan
    /// waits for all.
    pub(super) fn one_after_another(&mut self, order: &[usize]) {
        for (before, here) in order.iter().zip(order.iter().skip(1)) {
            let Some(key) = self.nodes.get(*before).map(|node| node.key.clone()) else {
                continue;
            };
            if let Some(node) = self.nodes.get_mut(*here).filter(|node| !node.told) {
                node.depends.push(Dependency::New(key));
            }
        }
    }

    /// The tasks with their dependencies, in the order given.
    pub(super) fn hand_over(self, tasks: Vec<PlannedTask>, order: &[usize]) -> Vec<PlannedTask> {
        let whole = tasks.into_iter().zip(self.nodes).map(|(task, node)| {
            let depends = node.depends;
            Some(PlannedTask { depends, ..task })
        });
        let mut tasks: Vec<Option<PlannedTask>> = whole.collect();
        order
            .iter()
            .filter_map(|&at| tasks.get_mut(at)?.take())
            .collect()
    }
}

/// The names around a circle, harmless, and in a long one only its ends.
fn shown(path: &[String]) -> Vec<String> {
    let mut names: Vec<String> = path.iter().map(|name| quoted(name)).collect();
    if names.len() > SHOWN {
        let half = SHOWN / 2;
        names.splice(half..names.len() - half, ["…".to_owned()]);
    }
    names
}
