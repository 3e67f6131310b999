//! The rules one by one, and what holds for every request. The plan: `1.1` ← `1.2` ← `1.3` (the
//! attempted one) ← `1.4`.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::model::{Phase, Status, TaskId, Timestamp};
use ChangeKind::{AddFollowup, AddPrerequisite, SplitTask};

const PLAN: [(&str, &str, &[&str]); 5] = [
    ("t-000001", "1.1", &[]),
    ("t-000002", "1.2", &["1.1"]),
    ("t-000003", "1.3", &["1.2"]),
    ("t-000004", "1.4", &["1.3"]),
    ("t-000006", "1.3.2", &[]),
];

fn plan(name: &str) -> Option<PlanTask> {
    let mut plan = PLAN.iter();
    let (id, _, waits) = plan.find(|(id, key, _)| *id == name || *key == name)?;
    Some(PlanTask {
        name: (*id).to_owned(),
        waits_for: waits.iter().map(|name| (*name).to_owned()).collect(),
        of_other_spec: false,
    })
}

fn original(id: &str, key: Option<&str>, verify: Option<&str>) -> Task {
    Task {
        id: TaskId::from_stored(id),
        key: key.map(Key::from_stored),
        spec: None,
        name: key.unwrap_or(id).to_owned(),
        title: "Original".into(),
        description: String::new(),
        status: Status::Pending,
        verified: false,
        done_by: None,
        verification: None,
        phase: Phase::parse("1").ok(),
        parent_id: None,
        depends_on: Vec::new(),
        priority: 0,
        verify: verify.map(str::to_owned),
        files: Vec::new(),
        protect: Vec::new(),
        may_change: Vec::new(),
        done_when: None,
        commit: None,
        markers: Vec::new(),
        model: None,
        attempts: 0,
        consecutive_failures: 0,
        needs_human: false,
        reason: None,
        created_at: Timestamp::from_millis(0),
        updated_at: Timestamp::from_millis(0),
    }
}

fn from(task: &Task) -> RequestingTask<'_> {
    RequestingTask {
        task,
        is_done: false,
        is_fix: false,
        changes: 0,
        depth: 0,
        has_open_children: false,
        plan: &plan,
        can_run: &|command| !command.starts_with("Look"),
    }
}

fn with_plan<'a>(task: &'a Task, plan: &'a dyn Fn(&str) -> Option<PlanTask>) -> RequestingTask<'a> {
    RequestingTask { plan, ..from(task) }
}

fn task(title: &str) -> ProposedTask {
    ProposedTask { title: title.into(), verify: Some("make".into()), ..ProposedTask::default() }
}

fn after(title: &str, names: &[&str]) -> ProposedTask {
    ProposedTask { depends: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..task(title) }
}

fn keyed(key: &str) -> ProposedTask {
    ProposedTask { key: Some(key.into()), ..task("T") }
}

fn request(kind: ChangeKind, proposed: impl Into<Vec<ProposedTask>>) -> PlanRequest {
    PlanRequest { kind, original: "1.3".into(), reasoning: "Because".into(), proposed: proposed.into() }
}

fn split() -> PlanRequest {
    request(SplitTask, [task("A"), task("B")])
}

/// The change as [`from`] asks for it, adjusted.
fn planned_as(
    request: &PlanRequest,
    adjust: impl FnOnce(&mut RequestingTask<'_>),
) -> Result<NewTasks, Refusal> {
    let task = original("t-000003", Some("1.3"), Some("make"));
    let mut from = from(&task);
    adjust(&mut from);
    plan_change(request, &from, &[])
}

fn planned(request: &PlanRequest) -> Result<NewTasks, Refusal> {
    planned_as(request, |_| {})
}

fn refused(request: &PlanRequest) -> Refusal {
    let refusal = planned(request).unwrap_err();
    let sentence = refusal.to_string();
    assert!(!sentence.contains('\n') && sentence.contains(": "), "{sentence}");
    refusal
}

fn keys_of(new: &NewTasks) -> Vec<&str> {
    let keys = new.tasks.iter().map(|(task, _)| task.key.as_ref().unwrap());
    keys.map(Key::as_str).collect()
}

fn new(key: &str) -> Needed {
    Needed::New(Key::from_stored(key))
}

fn known(name: &str) -> Needed {
    Needed::Known(name.into())
}

#[test]
fn mod_01_a_split_makes_children_that_run_in_order() {
    let change = planned(&request(SplitTask, [task("A"), task("B"), after("C", &[])])).unwrap();
    assert_eq!(keys_of(&change), ["1.3.1", "1.3.3", "1.3.4"], "the next free ones");
    let needs: Vec<_> = change.tasks.iter().map(|(_, needs)| needs.as_slice()).collect();
    assert_eq!(needs, [&[][..], &[new("1.3.1")], &[]], "unless told otherwise");
    let (first, _) = &change.tasks[0];
    assert_eq!(first.parent.as_ref().map(TaskId::as_str), Some("t-000003"));
    assert_eq!((change.side, change.original_needs.len()), (Side::After, 0));
    assert_eq!((change.depth, first.phase), (1, Phase::parse("1").ok()));
}

#[test]
fn mod_01_prerequisites_come_before_and_followups_after_the_original() {
    let tasks = [task("A"), after("B", &["t-000001"])];
    let change = planned(&request(AddPrerequisite, tasks)).unwrap();
    assert_eq!(change.original_needs, [new("1.3.1"), new("1.3.3")]);
    assert_eq!((change.side, change.tasks[0].0.parent.clone()), (Side::Before, None));
    assert_eq!(change.tasks[0].1, []);
    assert_eq!(change.tasks[1].1, [known("t-000001")]);

    let tasks = [task("A"), after("B", &["1.3", "1.3.1", "1.4", "1.4"])];
    let change = planned(&request(AddFollowup, tasks)).unwrap();
    assert_eq!((change.side, change.original_needs.len()), (Side::After, 0));
    assert_eq!(change.tasks[0].1, [known("t-000003")]);
    assert_eq!(change.tasks[1].1, [known("t-000003"), new("1.3.1"), known("t-000004")]);
}

#[test]
fn mod_01_tasks_come_after_what_they_depend_on() {
    let first = ProposedTask { key: Some("a".into()), ..after("A", &["c"]) };
    let change = planned(&request(SplitTask, [first, keyed("b"), keyed("c")])).unwrap();
    assert_eq!(keys_of(&change), ["b", "c", "a"]);
    assert_eq!(change.tasks[1].1, [new("b")]);
    assert_eq!(change.tasks[2].1, [new("c")]);
}

#[test]
fn plan_01_the_original_is_named_by_id_or_key() {
    let named = |name: &str| PlanRequest { original: name.into(), ..split() };
    for name in ["1.3", "t-000003", " 1.3 "] {
        assert!(planned(&named(name)).is_ok(), "{name}");
    }
    for name in ["1.4", "t-000004", "1.3.2", "1", "1.30", "no`pe"] {
        let refusal = refused(&named(name));
        assert!(matches!(refusal, Refusal::OtherTask { .. }), "{name}");
        assert!(refusal.to_string().ends_with("use `1.3`"));
    }
    let attempted = "1.3".into();
    assert_eq!(refused(&named(" ")), Refusal::NoOriginal { attempted });
}

#[test]
fn plan_02_keys_are_free_and_different() {
    let of = |keys: &[&str]| request(SplitTask, keys.iter().map(|k| keyed(k)).collect::<Vec<_>>());
    assert_eq!(refused(&of(&["a", "a"])), Refusal::RepeatedKey { key: "a".into() });
    for taken in ["1.4", "1.3", "1.3.2"] {
        assert_eq!(refused(&of(&["a", taken])), Refusal::TakenKey { key: taken.into() });
    }
    for bad in ["a b", "-a", "t-abcdef", "a`b", &"x".repeat(65)] {
        let refusal = refused(&of(&["a", bad]));
        assert!(matches!(refusal, Refusal::BadKey { .. }), "{bad}");
    }
    let mixed = request(SplitTask, [task("A"), keyed("1.3.1"), task("C")]);
    assert_eq!(keys_of(&planned(&mixed).unwrap()), ["1.3.3", "1.3.1", "1.3.4"]);
    let nameless = original("t-000003", None, None);
    let by_id = PlanRequest { original: "t-000003".into(), ..split() };
    let change = plan_change(&by_id, &from(&nameless), &[]).unwrap();
    assert_eq!(keys_of(&change), ["t-000003.1", "t-000003.2"]);
}

#[test]
fn plan_02_where_no_key_is_free_the_request_is_refused() {
    let everything =
        |name: &str| Some(PlanTask { name: name.to_owned(), waits_for: Vec::new(), of_other_spec: false });
    let task = original("t-000003", Some("1.3"), None);
    let refusal = plan_change(&split(), &with_plan(&task, &everything), &[]);
    assert_eq!(refusal, Err(Refusal::NoFreeKey { base: "1.3".into() }));
    let long = "x".repeat(63);
    let named = PlanRequest { original: long.clone(), ..split() };
    let refusal = plan_change(&named, &from(&original("t-000003", Some(&long), None)), &[]);
    assert!(matches!(refusal, Err(Refusal::NoFreeKey { .. })));
}

#[test]
fn plan_02_unknown_dependencies_are_refused() {
    for kind in ChangeKind::ALL {
        let refusal = refused(&request(kind, [task("A"), after("B", &["1.1", "9.`9"])]));
        let name = "9.?9".into();
        assert_eq!(refusal, Refusal::UnknownDependency { position: 2, name });
    }
}

#[test]
fn plan_02_cycles_are_refused_and_named() {
    let cycle = |kind, tasks: &[ProposedTask]| match refused(&request(kind, tasks)) {
        Refusal::Cycle { path } => path,
        other => panic!("{other}"),
    };
    let itself = ProposedTask { key: Some("a".into()), ..after("A", &["a"]) };
    assert_eq!(cycle(AddFollowup, &[itself]), ["a", "a"]);
    for kind in ChangeKind::ALL {
        let each_other = [after("A", &["1.3.3"]), after("B", &["1.3.1"])];
        assert_eq!(cycle(kind, &each_other), ["1.3.1", "1.3.3", "1.3.1"]);
    }
    for kind in [SplitTask, AddPrerequisite] {
        let on_original = cycle(kind, &[task("A"), after("B", &["1.3"])]);
        assert_eq!(on_original.first(), on_original.last());
        let on_dependent = cycle(kind, &[task("A"), after("B", &["1.4"])]);
        assert!(on_dependent.contains(&"t-000004".into()), "{on_dependent:?}");
        assert!(planned(&request(kind, [task("A"), after("B", &["1.2"])])).is_ok());
    }
}

#[test]
fn plan_02_a_long_cycle_shows_its_ends() {
    let chain = |name: &str| {
        let number: u32 = name.strip_prefix('c')?.parse().ok()?;
        let next = match number {
            99.. => "t-000003".into(),
            _ => format!("c{}", number + 1),
        };
        Some(PlanTask { name: name.to_owned(), waits_for: vec![next], of_other_spec: false })
    };
    let request = request(AddPrerequisite, [after("A", &["c0"])]);
    let task = original("t-000003", Some("1.3"), None);
    let refusal = plan_change(&request, &with_plan(&task, &chain), &[]);
    let Err(Refusal::Cycle { path }) = refusal else { panic!("{refusal:?}") };
    assert_eq!((path.len(), path[4].as_str()), (9, "…"));
}

#[test]
fn mod_02_a_fourth_change_and_one_at_depth_three_are_refused() {
    for n in 0..5 {
        let planned = planned_as(&split(), |from| from.changes = n);
        assert_eq!(planned.is_ok(), n < 3, "{n}");
        if let Err(refusal) = planned {
            assert_eq!(refusal, Refusal::TooManyChanges);
        }
        for kind in ChangeKind::ALL {
            let request = PlanRequest { kind, ..split() };
            match planned_as(&request, |from| from.depth = n) {
                Ok(change) => assert!(n < 2 && change.depth == n + 1),
                Err(refusal) => assert!(n >= 2 && refusal == Refusal::TooDeep),
            }
        }
    }
}

#[test]
fn mod_03_what_is_missing_is_refused() {
    let silent = PlanRequest { reasoning: " \n".into(), ..split() };
    assert_eq!(refused(&silent), Refusal::NoReasoning);
    for kind in ChangeKind::ALL {
        assert_eq!(refused(&request(kind, [])), Refusal::NoTasks);
        let tasks = [task("A"), task(" \u{7}")];
        assert_eq!(refused(&request(kind, tasks)), Refusal::NoTitle { position: 2 });
    }
    let attempted = "1.3".into();
    assert_eq!(refused(&request(SplitTask, [task("A")])), Refusal::OnePart { attempted });
    assert!(planned(&request(AddFollowup, [task("A")])).is_ok());
    let many = refused(&request(AddFollowup, vec![task("A"); 11]));
    assert_eq!(many, Refusal::TooManyTasks { given: 11 });
}

#[test]
fn mod_03_a_gate_is_required_where_the_original_has_one() {
    let with = |verify: Option<&str>| ProposedTask { verify: verify.map(str::to_owned), ..task("B") };
    for kind in ChangeKind::ALL {
        for (verify, expected) in [
            (None, Refusal::NoGate { position: 2 }),
            (Some("  "), Refusal::NoGate { position: 2 }),
            (Some("true"), Refusal::IdleGate { position: 2 }),
            (Some("Look at it"), Refusal::UnrunnableGate { position: 2 }),
        ] {
            assert_eq!(refused(&request(kind, [task("A"), with(verify)])), expected);
        }
        let ungated = original("t-000003", Some("1.3"), None);
        let change = plan_change(&request(kind, [task("A"), with(None)]), &from(&ungated), &[]);
        assert_eq!(change.unwrap().tasks[1].0.verify, None);
    }
    for command in ["", " ", "true", " true ; ", ":", "exit 0", "echo 'Verify manually'", "# none"] {
        assert!(always_passes(command), "{command}");
    }
    for command in ["make", "echo ok && make", "trueness", "test -f a", "# a\nmake", "echo $(x)"] {
        assert!(!always_passes(command), "{command}");
    }
}

#[test]
fn mod_03_what_contradicts_the_task_or_another_request_is_refused() {
    let parts = |from: &mut RequestingTask<'_>| from.has_open_children = true;
    let followup = request(AddFollowup, [task("A")]);
    assert_eq!(planned_as(&split(), parts), Err(Refusal::OpenParts));
    assert!(planned_as(&followup, parts).is_ok());
    assert_eq!(planned_as(&split(), |from| from.is_done = true), Err(Refusal::Done));
    assert!(planned_as(&followup, |from| from.is_done = true).is_ok());
    assert_eq!(planned_as(&split(), |from| from.is_fix = true), Err(Refusal::SplitFix));

    let task_of = original("t-000003", Some("1.3"), None);
    let prerequisite = request(AddPrerequisite, [task("A")]);
    let outcomes = |requests: &[PlanRequest]| {
        let changes = plan_changes(requests.iter().cloned().map(Ok).collect(), &from(&task_of));
        changes.into_iter().map(|change| change.outcome.err()).collect::<Vec<_>>()
    };
    let refusal = |refusal: Refusal| Some(refusal.to_string());
    assert_eq!(
        outcomes(&[split(), prerequisite.clone(), split()]),
        [None, refusal(Refusal::AlsoSplit), refusal(Refusal::OpenParts)]
    );
    assert_eq!(outcomes(&[prerequisite, split()]), [None, refusal(Refusal::AlsoPrerequisite)]);
    // A later request may name what an earlier one adds, and no key is given twice.
    let on_part = request(AddFollowup, [after("A", &["1.3.1"]), task("B")]);
    assert_eq!(outcomes(&[split(), on_part]), [None, None]);
    let closing = request(AddPrerequisite, [after("B", &["f"])]);
    let first = request(AddFollowup, [keyed("f")]);
    let [None, Some(cycle)] = &outcomes(&[first, closing])[..] else { panic!() };
    assert!(cycle.contains("cycle"), "{cycle}");
}

#[test]
fn sig_05_texts_are_cleaned_and_cut_and_commands_refused() {
    let long =
        ProposedTask { title: "a\nb\u{7} ".repeat(100), description: "word ".repeat(9000), ..task("") };
    let change = planned(&request(AddFollowup, [long])).unwrap();
    let NewTask { title, description, .. } = &change.tasks[0].0;
    assert!(title.starts_with("a b a b") && title.chars().count() <= TITLE_CHARS);
    assert!(description.chars().count() <= TEXT_CHARS);
    let mut verify = task("A");
    verify.verify = Some("x".repeat(2001));
    let (mut files, mut path) = (task("A"), task("A"));
    files.files = vec!["a".into(); 51];
    path.files = vec!["a".repeat(501)];
    for (task, expected) in
        [(verify, "a verify command"), (files, "a number of files"), (path, "a file's path")]
    {
        let refusal = refused(&request(AddFollowup, [task]));
        assert!(matches!(refusal, Refusal::TooLong { what, .. } if what == expected), "{refusal}");
    }
}

/// What `k0`, `k1`, … wait for; only for earlier ones.
type Waits = Vec<Vec<usize>>;

fn waits() -> impl Strategy<Value = Waits> {
    let waits = proptest::collection::vec(any::<prop::sample::Index>(), 0..3);
    proptest::collection::vec(waits, 5..12).prop_map(|tasks| {
        let earlier = |(at, waits): (usize, Vec<prop::sample::Index>)| match at {
            0 => Vec::new(),
            _ => waits.iter().map(|wait| wait.index(at)).collect(),
        };
        tasks.into_iter().enumerate().map(earlier).collect()
    })
}

fn proposed() -> impl Strategy<Value = ProposedTask> {
    let key = proptest::option::of(select(vec!["a", "b", "c", "d", "e", "k3.2", "k1"]));
    let name = select(vec!["a", "b", "c", "k0", "k1", "k2", "k3", "k4", "k9", "k3.1", "k3.2"]);
    let depends = proptest::option::of(proptest::collection::vec(name, 0..3));
    (key, depends).prop_map(|(key, depends)| ProposedTask {
        key: key.map(str::to_owned),
        title: "T".into(),
        depends: depends.map(|names| names.into_iter().map(str::to_owned).collect()),
        ..ProposedTask::default()
    })
}

/// Plans the change for `k3`, which has no gate.
fn judged(request: &PlanRequest, waits: &Waits) -> Result<NewTasks, Refusal> {
    let task = original("k3", None, None);
    let plan = |name: &str| {
        let waits = waits.get(name.strip_prefix('k')?.parse::<usize>().ok()?)?;
        let waits_for = waits.iter().map(|at| format!("k{at}")).collect();
        Some(PlanTask { name: name.to_owned(), waits_for, of_other_spec: false })
    };
    plan_change(request, &with_plan(&task, &plan), &[])
}

/// Whether every task can be done at some time once the change is made.
fn can_be_done(waits: &Waits, kind: ChangeKind, change: &NewTasks) -> bool {
    let number = |at: usize| format!("k{at}");
    let mut all: HashMap<String, Vec<String>> = HashMap::new();
    for (at, waits) in waits.iter().enumerate() {
        all.insert(number(at), waits.iter().map(|at| number(*at)).collect());
    }
    for (task, needs) in &change.tasks {
        let key = task.key.as_ref().unwrap().to_string();
        let needs = needs.iter().map(|need| needed(need).to_owned()).collect();
        assert_eq!(all.insert(key, needs), None, "a key that was free");
    }
    let original = all.get_mut("k3").unwrap();
    original.extend(change.original_needs.iter().map(|need| needed(need).to_owned()));
    if kind == SplitTask {
        original.extend(keys_of(change).into_iter().map(str::to_owned));
    }
    let mut done: HashSet<&str> = HashSet::new();
    loop {
        let before = done.len();
        for (name, waits) in &all {
            if waits.iter().all(|other| done.contains(other.as_str())) {
                done.insert(name);
            }
        }
        if done.len() == before {
            return before == all.len();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn plan_02_an_accepted_change_leaves_a_plan_that_can_be_done(
        waits in waits(),
        tasks in proptest::collection::vec(proposed(), 0..5),
        kind in select(ChangeKind::ALL.to_vec()),
    ) {
        let request = PlanRequest { kind, original: "k3".into(), reasoning: "r".into(), proposed: tasks };
        match judged(&request, &waits) {
            Ok(change) => {
                prop_assert_eq!(change.tasks.len(), request.proposed.len());
                prop_assert!(can_be_done(&waits, kind, &change));
                let mut earlier = HashSet::new();
                for (task, needs) in &change.tasks {
                    for need in needs {
                        prop_assert!(!matches!(need, Needed::New(key) if !earlier.contains(key)));
                    }
                    prop_assert!(earlier.insert(task.key.clone().unwrap()));
                }
            }
            Err(Refusal::Cycle { path }) => {
                prop_assert!(path.len() > 1 && path.first() == path.last());
            }
            Err(_) => {}
        }
    }

    #[test]
    fn plan_02_only_real_cycles_are_refused(
        waits in waits(), names in proptest::collection::vec(select(vec!["k0", "k1", "k2", "k4"]), 0..3),
    ) {
        let task = ProposedTask { verify: None, ..after("T", &names) };
        let request = PlanRequest { original: "k3".into(), ..request(AddPrerequisite, [task]) };
        let closes = names.contains(&"k4") && waits[4].contains(&3);
        prop_assert_eq!(judged(&request, &waits).is_ok(), !closes);
    }

    #[test]
    fn sig_05_refusals_are_harmless(name in any::<String>(), kind in select(ChangeKind::ALL.to_vec())) {
        let odd = ProposedTask { verify: None, ..after("T", &[&name]) };
        let keyed = ProposedTask { key: Some(name.clone()), ..odd.clone() };
        for (original, task) in [(name.as_str(), &odd), ("k3", &odd), ("k3", &keyed)] {
            let proposed = vec![task.clone(), task.clone()];
            let request = PlanRequest { original: original.into(), ..request(kind, proposed) };
            if let Err(refusal) = judged(&request, &vec![Vec::new(); 5]) {
                let sentence = refusal.to_string();
                let harmful = sentence.contains(['\n', '<', '\u{202e}']);
                prop_assert!(!harmful && sentence.len() < 1000, "{}", sentence);
                prop_assert_eq!(sentence.matches('`').count() % 2, 0);
            }
        }
    }
}
