//! Shells, make and anything else.

use super::{Kind, different, progress, same};

#[test]
fn fp_03_shells() {
    same("sh: 1: frob: not found\n", "sh: 12: frob: not found\n", Kind::Lines, None);
    different("sh: 1: frob: not found\n", "sh: 1: nicate: not found\n");
    same("bash: line 1: frob: command not found", "bash: line 9: frob: command not found", Kind::Lines, None);
    same(
        "cat: /tmp/a1/x: No such file or directory",
        "cat: ../b: No such file or directory",
        Kind::Lines,
        None,
    );
    same(
        "make[1]: Entering directory '/a/b'\nmake[1]: *** [Makefile:12: all] Error 1\nmake: *** [sub] Error 2\n",
        "make[2]: Entering directory '/c'\nmake[2]: *** [Makefile:90: all] Error 127\nmake: *** [sub] Error 2\n",
        Kind::Lines,
        None,
    );
    different("make: *** [all] Error 1\n", "make: *** No rule to make target 'x'.  Stop.\n");
}

#[test]
fn fp_03_other_output_does_not_count() {
    let one = "building 3 of 9\nerror: cannot reach host 10.0.0.1:80 after 3.5s\nbye\n";
    let two =
        "hello\nbuilding 9 of 9\nwarnings: 0 errors\nerror: cannot reach host 127.0.0.1:8080 after 350 ms\n";
    same(one, two, Kind::Lines, None);
    different(one, "error: cannot write to host\n");
}

#[test]
fn fp_03_lines_before_the_last_three_do_not_count() {
    let end = "error: b\nerror: c\nfatal: d\n";
    same(&format!("error: a\n{end}"), &format!("error: z\n{end}"), Kind::Lines, None);
    different("error: a\nerror: c\nfatal: d\n", end);
}

#[test]
fn fp_03_without_error_words_the_end_counts() {
    same("x\nwent wrong 12\n", "x\nwent wrong 99\n", Kind::Lines, None);
    different("went wrong\n", "went astray\n");
}

#[test]
fn fp_04_quoted_text_shows_in_the_fine_one() {
    progress("error: unknown option 'a'\n", "error: unknown option 'b'\n");
}
