use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::*;

fn refused(error: &io::Error) -> &Refused {
    error.get_ref().unwrap().downcast_ref().unwrap()
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
}

#[test]
fn what_is_not_a_regular_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    fifo(&top.join("pipe"));
    std::fs::create_dir(top.join("dir")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(top.join("socket")).unwrap();
    for (name, what) in
        [("pipe", "a named pipe"), ("dir", "a directory"), ("socket", "a socket"), ("/dev/null", "a device")]
    {
        let path = top.join(name);
        for links in [Links::Follow, Links::Refuse] {
            for flags in [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR | OFlags::CREATE] {
                let error = open_as(&path, links, flags).unwrap_err();
                assert_eq!(refused(&error), &Refused::NotRegular(what), "{name}");
            }
        }
        let link = top.join("link");
        symlink(&path, &link).unwrap();
        let error = open(&link, Links::Follow).unwrap_err();
        assert_eq!(refused(&error), &Refused::NotRegular(what), "{name}");
        std::fs::remove_file(link).unwrap();
    }
    let error = open(&top.join("nothing"), Links::Refuse).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn no_more_than_the_limit_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("AGENTS.md");
    let limit = Limit { mib: 1 };
    let file = File::create(&path).unwrap();
    file.set_len(1 << 20).unwrap();
    assert_eq!(read(&path, Links::Follow, limit).unwrap().len(), 1 << 20);
    file.set_len((1 << 20) + 1).unwrap();
    let error = read(&path, Links::Follow, limit).unwrap_err();
    assert_eq!(refused(&error), &Refused::TooLarge(limit));
    file.set_len(3 << 40).unwrap();
    let error = read(&path, Links::Follow, Limit::TEXT).unwrap_err();
    assert!(error.to_string().starts_with("larger than 64 MiB"));
}

#[test]
fn a_link_anywhere_in_a_resolved_path_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    std::fs::create_dir(top.join("real")).unwrap();
    std::fs::write(top.join("real/file"), "x").unwrap();
    symlink("real", top.join("dir")).unwrap();
    symlink("file", top.join("real/link")).unwrap();
    assert!(open(&top.join("real/file"), Links::Refuse).is_ok());
    for path in ["dir/file", "real/link"] {
        let path = top.join(path);
        assert!(open(&path, Links::Follow).is_ok());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        for open in [open_without_links, open_looking_at_each_part] {
            assert_eq!(open(&path, flags).unwrap_err(), Errno::LOOP);
        }
        let error = open(&path, Links::Refuse).unwrap_err();
        assert_eq!(refused(&error), &Refused::Link);
    }
}

#[test]
fn a_path_leads_where_its_links_lead() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    std::fs::create_dir(top.join("real")).unwrap();
    symlink("real", top.join("dir")).unwrap();
    symlink("nowhere", top.join("dangling")).unwrap();
    let resolved = resolve(&top.join("dir/new/file")).unwrap();
    assert_eq!(resolved, top.join("real/new/file"));
    let error = resolve(&top.join("dangling")).unwrap_err();
    assert_eq!(refused(&error), &Refused::Dangling);
}

#[test]
fn what_is_made_anew_replaces_a_link_and_not_what_it_leads_to() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let (own, other) = (dir.path().join("own"), dir.path().join("other"));
    std::fs::write(&other, "theirs").unwrap();
    symlink("other", &own).unwrap();
    create_anew(&own).unwrap().write_all(b"ours").unwrap();
    assert_eq!(std::fs::read(&own).unwrap(), b"ours");
    assert_eq!(std::fs::read(&other).unwrap(), b"theirs");
}

#[test]
fn a_link_is_followed_only_where_it_led_before() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for name in ["specs", "elsewhere"] {
        fs::create_dir(top.join(name)).unwrap();
        fs::write(top.join(name).join("tasks.md"), name).unwrap();
    }
    symlink("specs/tasks.md", top.join("link")).unwrap();
    symlink("nowhere", top.join("dangling")).unwrap();
    let all = ["link", "specs/tasks.md", "new", "dangling"].map(|name| top.join(name));
    let mut paths = RealPaths::default();
    paths.remember(all.clone());
    let [link, tasks, new, dangling] = all;
    assert_eq!(paths.real(&link).unwrap(), tasks);
    assert_eq!(paths.real(&tasks).unwrap(), tasks);
    assert_eq!(paths.real(&new).unwrap(), new);
    assert!(paths.real(&dangling).is_err());

    // A file, a new target, a directory: each is a link to elsewhere now.
    fs::remove_file(&link).unwrap();
    symlink("elsewhere/tasks.md", &link).unwrap();
    symlink("elsewhere/tasks.md", &new).unwrap();
    fs::write(top.join("nowhere"), "").unwrap();
    fs::rename(top.join("specs"), top.join("moved")).unwrap();
    symlink("elsewhere", top.join("specs")).unwrap();
    for path in [link, tasks, new, dangling] {
        assert!(paths.real(&path).is_err(), "{}", path.display());
    }
    let other = top.join("specs/tasks.md").with_file_name("other");
    assert_eq!(paths.real(&other).unwrap(), top.join("elsewhere/other"));
}
