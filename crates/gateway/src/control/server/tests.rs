use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::control::client::{AskError, Process, ask_all, nearest, running};
use crate::reload::{Cause, Outcome};

/// A process that counts its reloads.
#[derive(Default)]
struct Desk {
    reloads: AtomicU64,
    ending: bool,
}

impl Service for Desk {
    fn status(&self) -> Status {
        Status {
            pid: std::process::id(),
            version: "0".into(),
            started: "2026-01-01T00:00:00Z".into(),
            directory: "/work".into(),
            door: None,
            config: Some("/a.yaml".into()),
            generation: 1,
            reload: None,
        }
    }

    async fn counts(&self) -> Counts {
        Counts {
            servers_configured: 3,
            ..Counts::default()
        }
    }

    async fn servers(&self) -> Vec<ServerState> {
        Vec::new()
    }

    async fn reload(&self) -> Result<Arc<Report>, Ending> {
        if self.ending {
            return Err(Ending);
        }
        Ok(Arc::new(Report {
            cause: Cause::Request,
            generation: self.reloads.fetch_add(1, Ordering::SeqCst) + 2,
            took_ms: 0,
            waiting_for_restart: Vec::new(),
            outcome: Outcome::Unchanged,
        }))
    }
}

struct Scene {
    place: Place,
    socket: PathBuf,
    ending: CancellationToken,
    task: tokio::task::JoinHandle<()>,
    _dir: tempfile::TempDir,
}

fn place(dir: &Path) -> Place {
    let path = dir.display().to_string();
    Place::of(
        &move |name| (name == "TOOLCRIB_RUNTIME_DIR").then(|| path.clone()),
        None,
        Path::new("/nonexistent"),
    )
}

/// A directory whose path leaves room for a socket's, whatever `TMPDIR` says.
fn short() -> tempfile::TempDir {
    tempfile::tempdir_in("/tmp").unwrap()
}

fn scene(desk: Desk) -> Scene {
    let dir = short();
    let place = place(dir.path());
    let listener = Listener::bind(&place).unwrap();
    let ending = CancellationToken::new();
    Scene {
        socket: listener.path().to_owned(),
        task: tokio::spawn(listener.run(Arc::new(desk), ending.clone())),
        place,
        ending,
        _dir: dir,
    }
}

impl Scene {
    async fn process(&self) -> Process {
        running(&self.place).await.pop().expect("a process runs")
    }

    /// Sends bytes as they are and reads until the other side closes.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        String::from_utf8(heard).unwrap()
    }
}

#[tokio::test]
async fn every_request_of_the_protocol_is_answered() {
    let scene = scene(Desk::default());
    let process = scene.process().await;
    assert_eq!(process.pid, std::process::id());
    let pong: Pong = process.ask(Op::Ping).await.unwrap();
    assert_eq!(pong.pid, process.pid);
    let status: Status = process.ask(Op::Status).await.unwrap();
    assert_eq!(status.config.as_deref(), Some("/a.yaml"));
    let counts: Counts = process.ask(Op::Counts).await.unwrap();
    assert_eq!(counts.servers_configured, 3);
    let report: Report = process.ask(Op::Reload).await.unwrap();
    assert_eq!(report.generation, 2);
}

#[tokio::test]
async fn one_connection_takes_several_requests() {
    let scene = scene(Desk::default());
    let heard = scene
        .say(b"{\"v\":1,\"op\":\"ping\"}\n{\"v\":1,\"op\":\"counts\"}\n")
        .await;
    assert_eq!(heard.lines().count(), 2, "{heard}");
}

#[tokio::test]
async fn only_the_user_may_reach_the_socket_and_it_goes_away_with_the_process() {
    let scene = scene(Desk::default());
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&scene.socket), 0o600);
    assert_eq!(mode(scene.socket.parent().unwrap()), 0o700);
    scene.ending.cancel();
    scene.task.await.unwrap();
    assert!(!scene.socket.exists());
    assert!(running(&scene.place).await.is_empty());
}

#[tokio::test]
async fn garbage_and_huge_lines_are_answered_and_do_no_harm() {
    let scene = scene(Desk::default());
    for garbage in [
        &b"\n"[..],
        b"hello\n",
        b"\xff\xfe\x00\n",
        b"{\"v\":1}\n",
        b"[[[[[[[[[[[\n",
        b"{\"v\":9,\"op\":\"ping\"}\n",
    ] {
        let heard = scene.say(garbage).await;
        assert!(heard.contains("VALIDATION_ERROR"), "{garbage:?}: {heard}");
    }
    let nested = format!("{}\n", "[".repeat(100_000));
    assert!(
        scene
            .say(nested.as_bytes())
            .await
            .contains("VALIDATION_ERROR")
    );
    let huge = vec![b'x'; limits::CONTROL_MESSAGE_BYTES_MAX + 1];
    assert!(scene.say(&huge).await.contains("too long"));
    assert_eq!(scene.say(b"{\"v\":1,\"op\":").await, "");
    let pong: Result<Pong, _> = scene.process().await.ask(Op::Ping).await;
    assert!(pong.is_ok());
}

#[tokio::test]
async fn silent_clients_fill_the_room_only_until_their_time_is_up() {
    tokio::time::pause();
    let scene = scene(Desk::default());
    let mut silent = Vec::new();
    for _ in 0..limits::CONTROL_CONNECTIONS_MAX {
        silent.push(UnixStream::connect(&scene.socket).await.unwrap());
    }
    let process = scene.process().await;
    let refused = process.ask::<Pong>(Op::Ping).await.unwrap_err();
    let AskError::Refused { fault, .. } = refused else {
        panic!("{refused}")
    };
    assert_eq!(fault.code, "OVERLOADED");
    let mut nothing = Vec::new();
    for mut stream in silent {
        stream.read_to_end(&mut nothing).await.unwrap();
    }
    assert!(nothing.is_empty());
    assert!(process.ask::<Pong>(Op::Ping).await.is_ok());
}

#[tokio::test]
async fn a_client_that_drips_bytes_is_cut_off() {
    tokio::time::pause();
    let scene = scene(Desk::default());
    let mut stream = UnixStream::connect(&scene.socket).await.unwrap();
    let began = tokio::time::Instant::now();
    while stream.write_all(b" ").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(began.elapsed() < Duration::from_millis(3 * limits::CONTROL_TIMEOUT_MS));
    }
}

#[tokio::test]
async fn a_process_that_ends_says_so() {
    let scene = scene(Desk {
        ending: true,
        ..Desk::default()
    });
    let error = scene.process().await.ask::<Report>(Op::Reload).await;
    assert!(error.unwrap_err().to_string().contains("ending"));
}

#[tokio::test]
async fn sockets_left_behind_are_removed_and_other_processes_listed() {
    let scene = scene(Desk::default());
    let directory = scene.socket.parent().unwrap();
    let stale = directory.join("1.sock");
    drop(std::os::unix::net::UnixListener::bind(&stale).unwrap());
    let other = directory.join("2.sock");
    let _other = std::os::unix::net::UnixListener::bind(&other).unwrap();
    let found: Vec<_> = running(&scene.place).await.iter().map(|p| p.pid).collect();
    assert_eq!(found, [2, std::process::id()]);
    assert!(!stale.exists() && other.exists());
}

#[tokio::test]
async fn a_process_that_does_not_answer_is_named_with_the_time_it_was_given() {
    let dir = short();
    let place = place(dir.path());
    let directory = place.prepare().unwrap();
    let _deaf = std::os::unix::net::UnixListener::bind(directory.join("2.sock")).unwrap();
    let process = running(&place).await.pop().unwrap();
    tokio::time::pause();
    let error = process.ask::<Pong>(Op::Ping).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "process 2 did not answer within 5 s; it may be stopped: end it, or try again"
    );
}

#[tokio::test]
async fn answers_of_something_else_are_told_apart() {
    let dir = short();
    let place = place(dir.path());
    let directory = place.prepare().unwrap();
    for (pid, said) in [
        (2, &b"HTTP/1.1 400\n"[..]),
        (3, b"no end of line"),
        (4, b""),
    ] {
        let path = directory.join(format!("{pid}.sock"));
        let listener = UnixListener::bind(path).unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.write_all(said).await;
            }
        });
    }
    let answers = ask_all::<Pong>(running(&place).await, Op::Ping).await;
    let said: Vec<_> = answers
        .into_iter()
        .map(|(process, answer)| (process.pid, answer.unwrap_err()))
        .collect();
    assert!(matches!(said[0], (2, AskError::Garbled(2))), "{said:?}");
    assert!(matches!(said[1], (3, AskError::Gone(3))), "{said:?}");
    assert!(matches!(said[2], (4, AskError::Gone(4))), "{said:?}");
}

#[tokio::test]
async fn the_nearest_process_runs_on_the_same_configuration() {
    let scene = scene(Desk::default());
    let processes = || running(&scene.place);
    assert!(
        nearest(processes().await, Some("/a.yaml"), "/")
            .await
            .is_some()
    );
    assert!(
        nearest(processes().await, Some("/b.yaml"), "/")
            .await
            .is_none()
    );
    assert!(nearest(processes().await, None, "/work").await.is_none());
}

#[tokio::test]
async fn a_second_socket_for_the_same_id_gets_a_name_of_its_own() {
    let scene = scene(Desk::default());
    let second = Listener::bind(&scene.place).unwrap();
    assert_ne!(second.path(), scene.socket);
    assert_eq!(running(&scene.place).await.len(), 2);
    let path = second.path().to_owned();
    drop(second);
    assert!(!path.exists() && scene.socket.exists());
}
