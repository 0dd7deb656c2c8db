//! The program on a terminal of its own.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::home::{Home, eventually};

/// A terminal of so many columns: what a person sees, and what a program gets.
fn terminal(columns: u16) -> (std::fs::File, impl Fn() -> Stdio) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let size = Winsize {
        ws_row: 50,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&master, size).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let program = move || -> Stdio {
        let file = std::fs::File::options().read(true).write(true).open(&name);
        OwnedFd::from(file.unwrap()).into()
    };
    (std::fs::File::from(master), program)
}

/// Waits until the program reads single keys: before that a terminal takes some of them, such as Ctrl-C, for itself.
fn wait_for_keys(terminal: &std::fs::File) {
    eventually("the program reads keys", || {
        let modes = tcgetattr(terminal).unwrap().local_modes;
        (!modes.contains(LocalModes::ICANON)).then_some(())
    });
}

/// What a command shows where a person sees both of its streams as one.
pub(crate) fn together(home: &Home, arguments: &[&str]) -> String {
    let (mut screen, program) = terminal(100);
    let mut child = home
        .command(arguments)
        .env("TERM", "dumb")
        .stdin(Stdio::null())
        .stdout(program())
        .stderr(program())
        .spawn()
        .unwrap();
    drop(program);
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    // A terminal that no program has open any more answers with an error.
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        bytes.extend(&buffer[..count]);
    }
    child.wait().unwrap();
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}

/// A person who types; what was asked for goes into a pipe.
pub(crate) struct Terminal {
    pub(crate) child: Child,
    screen: std::fs::File,
    pub(crate) shown: String,
}

impl Terminal {
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        let (screen, program) = terminal(80);
        let child = home
            .command(arguments)
            .env("TERM", "xterm")
            .stdin(program())
            .stderr(program())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            child,
            screen,
            shown: String::new(),
        }
    }

    /// Waits for a text on the screen.
    pub(crate) fn shows(&mut self, text: &str) {
        let mut buffer = [0; 1024];
        while !self.shown.contains(text) {
            let count = self.screen.read(&mut buffer).unwrap();
            self.shown += &String::from_utf8_lossy(&buffer[..count]);
        }
    }

    /// Waits for a question that takes single keys, and presses some. Before the program takes keys, the terminal itself
    /// would take one that means something to it, such as Ctrl-C.
    pub(crate) fn press(&mut self, question: &str, keys: &str) {
        self.shows(question);
        wait_for_keys(&self.screen);
        self.screen.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line, or what the terminal itself takes, such as Ctrl-D.
    pub(crate) fn types(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Waits for its end, whatever came of it.
    pub(crate) fn wait_out(mut self) {
        std::io::copy(&mut self.child.stdout.take().unwrap(), &mut std::io::sink()).unwrap();
        self.child.wait().unwrap();
    }

    /// What it wrote to the pipe until its end, which must be a success.
    pub(crate) fn ends(mut self) -> String {
        let out = std::io::read_to_string(self.child.stdout.take().unwrap()).unwrap();
        assert!(self.child.wait().unwrap().success(), "{}", self.shown);
        out
    }
}

/// What a program finds on its standard input.
#[derive(Clone, Copy)]
pub(crate) enum Input<'a> {
    /// Its end.
    Nothing,
    /// A text and its end.
    Text(&'a str),
    /// The terminal, on which nobody types.
    Keyboard,
    /// The terminal, on which somebody waits for a question and types.
    Answer(&'a str, &'a str),
}

/// What a command shows on a screen of so many columns, what it says beside, and its exit code.
pub(crate) fn seen(home: &Home, arguments: &[&str], columns: u16) -> (String, String, Option<i32>) {
    watched(home, arguments, columns, Input::Nothing, |_| {})
}

/// The same with something on standard input, and somebody who hears every line that is said beside. Both streams
/// are terminals of that width, each for itself. The terminals are plain ones: nothing on them moves.
pub(crate) fn watched(
    home: &Home,
    arguments: &[&str],
    columns: u16,
    input: Input<'_>,
    hear: impl FnMut(&str) + Send,
) -> (String, String, Option<i32>) {
    let (mut screen, program) = terminal(columns);
    let (beside, program_beside) = terminal(columns);
    // What is typed goes in by a terminal of its own, so that it does not stand between what is shown.
    let (keys, keyboard) = terminal(columns);
    let stdin = match input {
        Input::Nothing => Stdio::null(),
        Input::Text(_) => Stdio::piped(),
        Input::Keyboard | Input::Answer(..) => keyboard(),
    };
    let mut child = home
        .command(arguments)
        .env("TERM", "dumb")
        .stdin(stdin)
        .stdout(program())
        .stderr(program_beside())
        .spawn()
        .unwrap();
    if let Input::Text(text) = input {
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
    }
    std::thread::scope(|scope| {
        let beside = scope.spawn(move || said_beside(beside, input, keys, hear));
        let mut bytes = Vec::new();
        let mut buffer = [0; 4096];
        // A terminal that no program has open any more answers with an error.
        while let Ok(count @ 1..) = screen.read(&mut buffer) {
            bytes.extend(&buffer[..count]);
        }
        let code = child.wait().unwrap().code();
        let shown = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        (shown, beside.join().unwrap(), code)
    })
}

/// Reads a terminal to its end, lets its lines be heard, and answers the question.
fn said_beside(
    mut terminal: std::fs::File,
    input: Input<'_>,
    mut keys: std::fs::File,
    mut hear: impl FnMut(&str),
) -> String {
    let mut open = match input {
        Input::Answer(question, answer) => Some((question, answer)),
        _ => None,
    };
    let (mut bytes, mut heard) = (Vec::new(), 0);
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        bytes.extend(&buffer[..count]);
        while let Some(length) = bytes[heard..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&bytes[heard..heard + length]);
            hear(line.trim_end_matches('\r'));
            heard += length + 1;
        }
        if let Some((question, answer)) = open
            && String::from_utf8_lossy(&bytes).contains(question)
        {
            wait_for_keys(&keys);
            keys.write_all(answer.as_bytes()).unwrap();
            open = None;
        }
    }
    String::from_utf8(bytes).unwrap().replace("\r\n", "\n")
}
