//! krafka, in pure Rust.

mod administrator;
mod lines;
mod member;

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use krafka::error::KrafkaError;
use krafka::producer::{Acks, Producer, Record as Message};
use krafka::{Compression, Kafka};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Plan {
    bootstrap: String,
    #[serde(default)]
    jobs: Vec<Job>,
    member: Option<member::Member>,
    #[serde(default)]
    administrator: bool,
}

#[derive(Deserialize)]
struct Job {
    name: String,
    topic: String,
    acks: i16,
    idempotent: bool,
    codec: String,
    linger_ms: u64,
    timeout_ms: u64,
    block_ms: u64,
    retries: bool,
    pause_before: Option<usize>,
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    partition: i32,
    key: Option<String>,
    value: Option<String>,
    headers: Vec<(String, Option<String>)>,
    timestamp_ms: i64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), KrafkaError> {
    let plan: Plan = serde_json::from_str(&read_line()).expect("a plan on the first line of stdin");
    if let Some(member) = &plan.member {
        return member::join(&plan.bootstrap, member).await;
    }
    if plan.administrator {
        return administrator::administer(&plan.bootstrap).await;
    }
    let mut jobs = Vec::new();
    for job in &plan.jobs {
        let results = run(&plan.bootstrap, job).await?;
        jobs.push(json!({"name": job.name, "results": results}));
    }
    println!(
        "{}",
        json!({"client": "krafka", "version": "0.28.1", "jobs": jobs})
    );
    Ok(())
}

async fn run(bootstrap: &str, job: &Job) -> Result<Vec<Value>, KrafkaError> {
    let producer = producer(bootstrap, job).await?;
    let mut results = Vec::new();
    let (before, after) = job.records.split_at(job.pause_before.unwrap_or(0));
    results.extend(send(&producer, &job.topic, before).await);
    if job.pause_before.is_some() {
        println!("paused");
        read_line();
    }
    results.extend(send(&producer, &job.topic, after).await);
    producer.close().await?;
    Ok(results)
}

async fn producer(bootstrap: &str, job: &Job) -> Result<Producer, KrafkaError> {
    let timeout = Duration::from_millis(job.timeout_ms);
    let linger = Duration::from_millis(job.linger_ms);
    let kafka = Kafka::builder(bootstrap)
        .request_timeout(timeout)
        .connect_timeout(timeout)
        .connect()
        .await?;
    kafka
        .producer()
        .acks(Acks::from_i16(job.acks).expect("acks of 0, 1 or -1"))
        .idempotent(job.idempotent)
        .compression(compression(&job.codec))
        .linger(linger)
        // There is no setting for retries: this is the only bound.
        .delivery_timeout(if job.retries {
            timeout * 20
        } else {
            timeout + linger
        })
        .max_block(Duration::from_millis(job.block_ms))
        .metrics_push(false)
        .build()
        .await
}

fn compression(codec: &str) -> Compression {
    match codec {
        "none" => Compression::None,
        "gzip" => Compression::Gzip,
        "snappy" => Compression::Snappy,
        "lz4" => Compression::Lz4,
        "zstd" => Compression::Zstd,
        other => panic!("no codec is called {other}"),
    }
}

async fn send(producer: &Producer, topic: &str, records: &[Record]) -> Vec<Value> {
    let mut sent = Vec::new();
    for record in records {
        sent.push(producer.enqueue(message(topic, record)).await);
    }
    let mut results = Vec::new();
    for handle in sent {
        let outcome = match handle {
            Ok(handle) => handle.await,
            Err(error) => Err(error),
        };
        results.push(match outcome {
            Ok(place) => json!({"partition": place.partition, "offset": place.offset}),
            Err(error) => json!({"error": name(&error)}),
        });
    }
    results
}

fn message(topic: &str, record: &Record) -> Message {
    let mut message = match bytes(&record.value) {
        Some(value) => Message::new(topic, value),
        None => Message::new(topic, "").without_value(),
    };
    message = message
        .partition(record.partition)
        .timestamp(record.timestamp_ms);
    if let Some(key) = bytes(&record.key) {
        message = message.key(key);
    }
    for (name, value) in &record.headers {
        message = match bytes(value) {
            Some(value) => message.header(name, value),
            None => message.null_header(name),
        };
    }
    message
}

fn bytes(text: &Option<String>) -> Option<Vec<u8>> {
    text.as_ref()
        .map(|text| STANDARD.decode(text).expect("base64"))
}

/// The variant of the error, and the broker's code; the texts hold times.
fn name(error: &KrafkaError) -> String {
    match error {
        KrafkaError::Broker { code, .. } => format!("Broker {code:?}"),
        KrafkaError::DeliveryTimeout {
            possibly_written, ..
        } => {
            format!("DeliveryTimeout possibly_written={possibly_written}")
        }
        other => {
            let shown = format!("{other:?}");
            shown
                .split([' ', '(', '{'])
                .next()
                .unwrap_or_default()
                .to_string()
        }
    }
}

fn read_line() -> String {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("stdin");
    line
}
