//! What the server writes, and what it is told in return.

use std::collections::HashMap;
use std::io::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex};

use serde_json::{Value, json};

use crate::flags::{Fault, Flags, append, exit};

/// The way to the client.
pub(crate) struct Wire {
    flags: Arc<Flags>,
    frames: Mutex<u64>,
    next: AtomicI64,
    asked: Mutex<HashMap<i64, Sender<Value>>>,
    cancelled: Mutex<Vec<Value>>,
    listening: Mutex<Option<Value>>,
    here: Mutex<u64>,
    arrival: Condvar,
}

impl Wire {
    pub(crate) fn new(flags: Arc<Flags>) -> Self {
        Self {
            flags,
            frames: Mutex::default(),
            next: AtomicI64::new(1),
            asked: Mutex::default(),
            cancelled: Mutex::default(),
            listening: Mutex::default(),
            here: Mutex::default(),
            arrival: Condvar::new(),
        }
    }

    pub(crate) fn result(&self, id: &Value, result: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    pub(crate) fn fault(&self, id: &Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
    }

    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks the client, and waits for its answer.
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, answer): (_, Receiver<Value>) = mpsc::channel();
        self.asked.lock().expect("a lock").insert(id, sender);
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        answer.recv().unwrap_or_default()
    }

    /// The client answered.
    pub(crate) fn answered(&self, message: &Value) {
        let id = message["id"].as_i64().unwrap_or_default();
        if let Some(sender) = self.asked.lock().expect("a lock").remove(&id) {
            let _ = sender.send(message.clone());
        }
    }

    /// The client told something.
    pub(crate) fn told(&self, method: &str, params: &Value) {
        if method == "notifications/cancelled" {
            self.cancelled
                .lock()
                .expect("a lock")
                .push(params["requestId"].clone());
        }
    }

    /// Which requests the client has taken back.
    pub(crate) fn cancelled(&self) -> Vec<Value> {
        self.cancelled.lock().expect("a lock").clone()
    }

    /// Opens a subscription.
    pub(crate) fn listen(&self, id: &Value, params: &Value) {
        *self.listening.lock().expect("a lock") = Some(id.clone());
        let meta = json!({"io.modelcontextprotocol/subscriptionId": id});
        let accepted = json!({"_meta": meta, "notifications": params["notifications"]});
        self.notify("notifications/subscriptions/acknowledged", &accepted);
    }

    /// Waits until so many have come here.
    pub(crate) fn meet(&self, of: u64) {
        let mut here = self.here.lock().expect("a lock");
        *here += 1;
        self.arrival.notify_all();
        while *here < of {
            here = self.arrival.wait(here).expect("a lock");
        }
    }

    /// Says that the tools have changed.
    pub(crate) fn changed(&self) {
        let listening = self.listening.lock().expect("a lock").clone();
        let params = match listening {
            Some(id) => json!({"_meta": {"io.modelcontextprotocol/subscriptionId": id}}),
            None => json!({}),
        };
        self.notify("notifications/tools/list_changed", &params);
    }

    fn send(&self, message: &Value) {
        self.write(message.to_string());
    }

    /// Writes one frame, or fails at it.
    pub(crate) fn write(&self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        let mut frames = self.frames.lock().expect("a lock");
        *frames += 1;
        let mut out = std::io::stdout().lock();
        if self.flags.junk {
            let _ = out.write_all(b"Listening on stdio...\n");
        }
        if self.flags.invalid_utf8 {
            let _ = out.write_all(b"\xff\xfe broken {\"jsonrpc\n");
        }
        if self.flags.unasked {
            let _ = out.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{}}\n");
        }
        let mut times = 1;
        if self.flags.fail_at == Some(*frames) && self.fails_this_time() {
            match self.flags.fault {
                Fault::Exit => exit(9),
                Fault::Half => {
                    let _ = out.write_all(&text[..text.len() / 2]);
                    let _ = out.flush();
                    exit(9);
                }
                Fault::Silence => return,
                Fault::Twice => times = 2,
                Fault::Junk => {
                    let _ = out.write_all(b"segfault at 0\n");
                    let _ = out.flush();
                    return;
                }
            }
        }
        for _ in 0..times {
            let _ = out.write_all(text);
            let _ = out.write_all(b"\n");
        }
        let _ = out.flush();
    }

    /// Whether the fault was not spent by an earlier life of this server.
    fn fails_this_time(&self) -> bool {
        let Some(file) = &self.flags.once else {
            return true;
        };
        let spent = file.exists();
        append(file, "failed");
        !spent
    }
}
