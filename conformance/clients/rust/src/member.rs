//! A member of a group, until it is told to leave.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use krafka::Kafka;
use krafka::admin::TopicPartition;
use krafka::consumer::{
    AutoOffsetReset, Consumer, ConsumerRebalanceListener, GroupProtocol,
    PartitionAssignmentStrategy,
};
use krafka::error::KrafkaError;
use serde::Deserialize;
use serde_json::json;

use crate::lines::{lines, tell};
use crate::name;

#[derive(Deserialize)]
pub struct Member {
    group: String,
    topic: String,
    protocol: String,
    assignor: Option<String>,
    instance: Option<String>,
    reset: String,
    session_ms: u64,
    heartbeat_ms: u64,
}

/// What it has, which is told whenever it changes.
#[derive(Default)]
struct Owned(Mutex<BTreeSet<i32>>);

impl Owned {
    fn change(&self, change: impl Fn(&mut BTreeSet<i32>, i32) -> bool, of: &[TopicPartition]) {
        let mut owned = self.0.lock().expect("nobody panics here");
        for each in of {
            change(&mut owned, each.partition);
        }
        tell(json!({"assigned": *owned}));
    }
}

impl ConsumerRebalanceListener for Owned {
    async fn on_partitions_assigned(&self, partitions: &[TopicPartition]) {
        self.change(|owned, partition| owned.insert(partition), partitions);
    }

    async fn on_partitions_revoked(&self, partitions: &[TopicPartition]) {
        self.change(|owned, partition| owned.remove(&partition), partitions);
    }

    async fn on_partitions_lost(&self, partitions: &[TopicPartition]) {
        self.change(|owned, partition| owned.remove(&partition), partitions);
    }
}

pub async fn join(bootstrap: &str, member: &Member) -> Result<(), KrafkaError> {
    let consumer = consumer(bootstrap, member).await?;
    consumer.subscribe([&member.topic]).await?;
    let mut told = lines();
    let mut failed = false;
    loop {
        let line = if failed {
            told.recv().await
        } else {
            told.try_recv().ok()
        };
        let word: Option<serde_json::Value> =
            line.map(|line| serde_json::from_str(&line).expect("a line of JSON"));
        let outcome = match word.as_ref().map(|word| word["do"].as_str()) {
            Some(Some("close")) => break,
            Some(_) => consumer
                .commit()
                .await
                .map(|()| tell(json!({"committed": true}))),
            None if failed => Ok(()),
            None => read(&consumer).await,
        };
        if let Err(error) = outcome {
            failed = !error.is_retriable();
            tell(json!({"error": name(&error)}));
        }
    }
    consumer.close().await?;
    tell(json!({"closed": true}));
    Ok(())
}

async fn read(consumer: &Consumer) -> Result<(), KrafkaError> {
    let records = consumer.poll(Duration::from_millis(50)).await?;
    let read: Vec<_> = records
        .iter()
        .map(|record| {
            let value = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default());
            json!([record.partition, record.offset, value])
        })
        .collect();
    if !read.is_empty() {
        tell(json!({"read": read}));
    }
    Ok(())
}

async fn consumer(bootstrap: &str, member: &Member) -> Result<Consumer, KrafkaError> {
    let mut consumer = Kafka::builder(bootstrap)
        .connect()
        .await?
        .consumer(&member.group)
        .auto_offset_reset(match member.reset.as_str() {
            "earliest" => AutoOffsetReset::Earliest,
            _ => AutoOffsetReset::Latest,
        })
        .enable_auto_commit(false)
        .metrics_push(false)
        .rebalance_listener(Arc::new(Owned::default()));
    if let Some(instance) = &member.instance {
        consumer = consumer.group_instance_id(instance);
    }
    if member.protocol == "consumer" {
        return consumer
            .group_protocol(GroupProtocol::Consumer)
            .build()
            .await;
    }
    consumer
        .session_timeout(Duration::from_millis(member.session_ms))
        .heartbeat_interval(Duration::from_millis(member.heartbeat_ms))
        .partition_assignment_strategy(match member.assignor.as_deref() {
            Some("cooperative-sticky") => PartitionAssignmentStrategy::CooperativeSticky,
            _ => PartitionAssignmentStrategy::Range,
        })
        .build()
        .await
}
