//! gcc and clang, ld, GoogleTest, CTest and RSpec.

use super::{Kind, Tool, different, names, same};

#[test]
fn fp_02_gcc_and_clang() {
    let gcc = |dir: &str, at: u32, name: &str| {
        format!(
            "{dir}c.c: In function ‘main’:\n{dir}c.c:{at}:21: error: ‘{name}’ undeclared (first use in this function)\n    \
             {at} | int main(){{ int x = {name}; }}\n      |                     ^\n\
             {dir}c.c:{at}:24: warning: implicit declaration of function ‘foo{at}’ [-Wimplicit-function-declaration]\n\
             make: *** [Makefile:{at}: all] Error 1\n"
        )
    };
    same(&gcc("", 2, "y"), &gcc("/src/deep/", 90, "y"), Kind::Compiler, Some(Tool("gcc")));
    different(&gcc("", 2, "y"), &gcc("", 2, "z"));
    let clang = |at: u32, name: &str| {
        format!("a/b.cpp:{at}:3: error: use of undeclared identifier '{name}'\n1 error generated.\n")
    };
    same(&clang(3, "y"), &clang(5, "y"), Kind::Compiler, Some(Tool("gcc")));
    different(&clang(3, "y"), &clang(3, "z"));
    let header = |dir: &str, name: &str| {
        format!("{dir}/x.c:1:10: fatal error: {name}: No such file or directory\ncompilation terminated.\n")
    };
    same(&header("/a", "foo.h"), &header("b", "foo.h"), Kind::Compiler, Some(Tool("gcc")));
    different(&header("/a", "sub/foo.h"), &header("/a", "sub/bar.h"));
}

#[test]
fn fp_02_linker() {
    let one = |object: &str, name: &str| {
        format!(
            "/usr/bin/ld: /tmp/{object}.o: in function `main':\nd.c:(.text+0xa): undefined reference to `{name}'\n\
             collect2: error: ld returned 1 exit status\n"
        )
    };
    same(&one("ccTbJCKo", "f"), &one("cc12abcd", "f"), Kind::Compiler, Some(Tool("ld")));
    different(&one("ccTbJCKo", "f"), &one("ccTbJCKo", "g"));
}

#[test]
fn fp_01_other_runners() {
    names(
        "[ RUN      ] S.a\n[  FAILED  ] S.a (3 ms)\n[       OK ] S.b (0 ms)\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] S.a\n",
        &["S.a"],
    );
    names(
        "67% tests passed, 1 tests failed out of 3\n\nThe following tests FAILED:\n\t  3 - parse (Failed)\n\t  4 - run (Timeout)\nErrors while running CTest\n",
        &["parse", "run"],
    );
    names("Failed examples:\n\nrspec ./spec/a_spec.rb:12 # Foo does bar\n", &["Foo does bar"]);
}
