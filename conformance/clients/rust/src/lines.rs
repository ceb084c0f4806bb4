//! Lines of JSON from and to the harness.

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Those that come from now on.
pub fn lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if sender.send(line.expect("stdin")).is_err() {
                return;
            }
        }
    });
    receiver
}

pub fn tell(event: serde_json::Value) {
    println!("{event}");
}
