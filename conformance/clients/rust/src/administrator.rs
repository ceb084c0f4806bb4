//! The administrator: one call for each line.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use krafka::Kafka;
use krafka::admin::{
    AclFilter, AdminClient, ClientQuotaAlteration, ClientQuotaEntity, ClientQuotaFilter, ConfigOp,
    ConfigResource, ElectionType, ListPartitionReassignmentsOptions, NewTopic, OffsetSpec,
    QuotaMatch, ScramCredentialUpsertion, TopicPartition,
};
use krafka::auth::ScramMechanism;
use krafka::error::KrafkaError;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::lines::{lines, tell};
use crate::name;

/// One call; each has some of these.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Call {
    call: String,
    topic: String,
    group: String,
    prefix: String,
    partition: i32,
    partitions: i32,
    total: i32,
    replicas: i16,
    broker: i32,
    spec: String,
    configs: BTreeMap<String, String>,
    set: BTreeMap<String, String>,
    delete: Vec<String>,
    names: Vec<String>,
    offsets: BTreeMap<i32, i64>,
    client_id: String,
    key: String,
    value: f64,
    user: String,
    iterations: i32,
}

type Answer = Result<Value, KrafkaError>;

pub async fn administer(bootstrap: &str) -> Result<(), KrafkaError> {
    let admin = Kafka::builder(bootstrap).connect().await?.admin();
    let mut calls = lines();
    while let Some(line) = calls.recv().await {
        let call: Call = serde_json::from_str(&line).expect("a call");
        let answer = match call.call.as_str() {
            "create_topic" | "create_partitions" | "delete_topic" | "list_topics"
            | "describe_topic" => topics(&admin, &call).await,
            "alter_topic_configs" | "describe_topic_configs" | "describe_broker_configs" => {
                configs(&admin, &call).await
            }
            "list_offsets" | "delete_records" | "elect_leader" | "list_reassignments"
            | "describe_log_dirs" => partitions(&admin, &call).await,
            "alter_group_offsets"
            | "group_offsets"
            | "delete_group_offsets"
            | "list_groups"
            | "describe_group"
            | "delete_group" => groups(&admin, &call).await,
            _ => cluster(&admin, &call).await,
        };
        tell(match answer {
            Ok(result) => json!({"result": result}),
            Err(error) => json!({"error": name(&error)}),
        });
    }
    Ok(())
}

async fn topics(admin: &AdminClient, call: &Call) -> Answer {
    let topic = call.topic.as_str();
    match call.call.as_str() {
        "create_topic" => {
            let mut made = NewTopic::new(topic, call.partitions, call.replicas)?;
            for (key, value) in &call.configs {
                made = made.with_config(key, value);
            }
            only(admin.create_topics([made], Default::default()).await?)?;
        }
        "create_partitions" => only(
            admin
                .create_partitions([(topic, call.total)], Default::default())
                .await?,
        )?,
        "delete_topic" => only(admin.delete_topics([topic], Default::default()).await?)?,
        "list_topics" => {
            let found = admin.list_topics(Default::default()).await?;
            return Ok(with(found, &call.prefix));
        }
        _ => {
            let found = only(admin.describe_topics([topic], Default::default()).await?)?;
            let replicas = found.partitions[0].replicas.len();
            return Ok(json!({"partitions": found.partitions.len(), "replicas": replicas}));
        }
    }
    Ok(json!(true))
}

async fn configs(admin: &AdminClient, call: &Call) -> Answer {
    let resource = match call.call.as_str() {
        "describe_broker_configs" => ConfigResource::broker(call.broker),
        _ => ConfigResource::topic(&call.topic),
    };
    if call.call == "alter_topic_configs" {
        let mut changes: Vec<_> = call.set.iter().map(|(k, v)| ConfigOp::set(k, v)).collect();
        changes.extend(call.delete.iter().map(ConfigOp::delete));
        only(
            admin
                .incremental_alter_configs([(resource, changes)], Default::default())
                .await?,
        )?;
        return Ok(json!(true));
    }
    let found = only(
        admin
            .describe_configs([resource], Default::default())
            .await?,
    )?;
    let values: BTreeMap<_, _> = found
        .into_iter()
        .filter(|entry| call.names.contains(&entry.name))
        .map(|entry| (entry.name, entry.value))
        .collect();
    Ok(json!(values))
}

async fn partitions(admin: &AdminClient, call: &Call) -> Answer {
    let partition = TopicPartition::new(&call.topic, call.partition);
    Ok(match call.call.as_str() {
        "list_offsets" => {
            let spec = match call.spec.as_str() {
                "earliest" => OffsetSpec::Earliest,
                _ => OffsetSpec::Latest,
            };
            let found = admin
                .list_offsets([(partition, spec)], Default::default())
                .await?;
            json!(only(found)?.offset)
        }
        "delete_records" => {
            let done = admin
                .delete_records(offsets(call), Default::default())
                .await?;
            json!(by_partition(done, |mark| mark)?)
        }
        "elect_leader" => {
            let of = Some(vec![partition]);
            only(
                admin
                    .elect_leaders(ElectionType::Preferred, of, Default::default())
                    .await?,
            )?;
            json!("elected")
        }
        "list_reassignments" => {
            let of = ListPartitionReassignmentsOptions::default().partitions(vec![partition]);
            json!(admin.list_partition_reassignments(of).await?.len())
        }
        _ => {
            let mut sizes = BTreeMap::new();
            let found = admin
                .describe_log_dirs([1, 2, 3], Default::default())
                .await?;
            for (broker, folders) in found {
                for folder in folders?.into_values() {
                    for (of, replica) in folder?.replicas {
                        if of.topic == call.topic {
                            sizes.insert(format!("{broker}:{}", of.partition), replica.size);
                        }
                    }
                }
            }
            json!(sizes)
        }
    })
}

async fn groups(admin: &AdminClient, call: &Call) -> Answer {
    let group = call.group.as_str();
    match call.call.as_str() {
        "alter_group_offsets" => {
            let done = admin
                .alter_consumer_group_offsets(group, offsets(call), Default::default())
                .await?;
            by_partition(done, |()| ())?;
        }
        "group_offsets" => {
            let found = admin
                .list_consumer_group_offsets(group, Default::default())
                .await?;
            return Ok(json!(by_partition(found, |each| each.offset)?));
        }
        "delete_group_offsets" => {
            let of = [TopicPartition::new(&call.topic, call.partition)];
            only(
                admin
                    .delete_consumer_group_offsets(group, of, Default::default())
                    .await?,
            )?;
        }
        "list_groups" => {
            let mut names = Vec::new();
            for found in admin
                .list_consumer_groups(Default::default())
                .await?
                .into_values()
            {
                names.extend(found?.into_iter().map(|listing| listing.group_id));
            }
            return Ok(with(names, &call.prefix));
        }
        "describe_group" => {
            let found = only(
                admin
                    .describe_consumer_groups([group], Default::default())
                    .await?,
            )?;
            return Ok(json!({"state": found.state, "members": found.members.len()}));
        }
        _ => only(
            admin
                .delete_consumer_groups([group], Default::default())
                .await?,
        )?,
    }
    Ok(json!(true))
}

async fn cluster(admin: &AdminClient, call: &Call) -> Answer {
    Ok(match call.call.as_str() {
        "describe_cluster" => {
            let found = admin.describe_cluster(Default::default()).await?;
            let mut ids: Vec<_> = found.brokers.into_iter().map(|broker| broker.id).collect();
            ids.sort_unstable();
            json!(ids)
        }
        "alter_quota" => {
            let entity = ClientQuotaEntity::from_iter([("client-id", Some(&call.client_id))]);
            let change =
                ClientQuotaAlteration::new(entity, vec![(call.key.clone(), Some(call.value))]);
            only(
                admin
                    .alter_client_quotas(vec![change], Default::default())
                    .await?,
            )?;
            json!(true)
        }
        "describe_quota" => {
            let filter = ClientQuotaFilter::all()
                .component("client-id", QuotaMatch::Exact(call.client_id.clone()));
            let found = admin
                .describe_client_quotas(filter, Default::default())
                .await?;
            json!(found.into_values().next())
        }
        "alter_scram" => {
            let change = ScramCredentialUpsertion {
                name: call.user.clone(),
                mechanism: ScramMechanism::Sha256,
                iterations: call.iterations,
                salt: b"salt".to_vec().into(),
                salted_password: b"secret".to_vec().into(),
            };
            only(
                admin
                    .alter_user_scram_credentials(vec![], vec![change], Default::default())
                    .await?,
            )?;
            json!(true)
        }
        "describe_scram" => {
            let of = Some(vec![call.user.clone()]);
            let found = only(
                admin
                    .describe_user_scram_credentials(of, Default::default())
                    .await?,
            )?;
            json!(found[0].iterations)
        }
        "describe_acls" => {
            let found = admin
                .describe_acls(AclFilter::all(), Default::default())
                .await?;
            json!(found.len())
        }
        other => panic!("no call is {other}"),
    })
}

fn offsets(call: &Call) -> Vec<(TopicPartition, i64)> {
    call.offsets
        .iter()
        .map(|(partition, offset)| (TopicPartition::new(&call.topic, *partition), *offset))
        .collect()
}

fn by_partition<T, U>(
    found: HashMap<TopicPartition, Result<T, KrafkaError>>,
    what: impl Fn(T) -> U,
) -> Result<BTreeMap<i32, U>, KrafkaError> {
    found
        .into_iter()
        .map(|(of, each)| Ok((of.partition, what(each?))))
        .collect()
}

/// The answer for the one thing that was asked.
fn only<K: Eq + Hash, T>(found: HashMap<K, Result<T, KrafkaError>>) -> Result<T, KrafkaError> {
    found.into_values().next().expect("an answer")
}

fn with(names: Vec<String>, prefix: &str) -> Value {
    let mut found: Vec<_> = names
        .into_iter()
        .filter(|name| name.starts_with(prefix))
        .collect();
    found.sort();
    json!(found)
}
