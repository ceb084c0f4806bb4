// The administrator: one call for each line.
import { createRequire } from 'node:module'

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } =
  createRequire(import.meta.url)('kafkajs')
const numbered = offsets => Object.entries(offsets).map(([partition, offset]) =>
  ({ partition: Number(partition), offset: String(offset) }))
const withPrefix = (names, prefix) => names.filter(name => name.startsWith(prefix)).sort()

async function settings(admin, type, name, names) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type, name, configNames: names }],
  })
  return Object.fromEntries(resources[0].configEntries.map(entry => [entry.configName, entry.configValue]))
}

const CALLS = {
  create_topic: async (admin, { topic, partitions, replicas, configs }) => admin.createTopics({
    topics: [{
      topic,
      numPartitions: partitions,
      replicationFactor: replicas,
      configEntries: Object.entries(configs).map(([name, value]) => ({ name, value })),
    }],
  }),
  create_partitions: async (admin, { topic, total }) =>
    admin.createPartitions({ topicPartitions: [{ topic, count: total }] }),
  delete_topic: async (admin, { topic }) => admin.deleteTopics({ topics: [topic] }),
  list_topics: async (admin, { prefix }) => withPrefix(await admin.listTopics(), prefix),
  describe_topic: async (admin, { topic }) => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const { partitions } = topics[0]
    return { partitions: partitions.length, replicas: partitions[0].replicas.length }
  },
  // The old way, AlterConfigs: what is not named is set back.
  alter_topic_configs: async (admin, { topic, set }) => (await admin.alterConfigs({
    validateOnly: false,
    resources: [{
      type: ConfigResourceTypes.TOPIC,
      name: topic,
      configEntries: Object.entries(set).map(([name, value]) => ({ name, value })),
    }],
  })).resources.map(({ errorCode }) => errorCode),
  describe_topic_configs: async (admin, { topic, names }) =>
    settings(admin, ConfigResourceTypes.TOPIC, topic, names),
  describe_broker_configs: async (admin, { broker, names }) =>
    settings(admin, ConfigResourceTypes.BROKER, String(broker), names),
  list_offsets: async (admin, { topic, partition, spec }) => {
    const found = (await admin.fetchTopicOffsets(topic)).find(each => each.partition === partition)
    return Number(spec === 'earliest' ? found.low : found.high)
  },
  delete_records: async (admin, { topic, offsets }) =>
    admin.deleteTopicRecords({ topic, partitions: numbered(offsets) }),
  list_reassignments: async (admin, { topic, partition }) =>
    (await admin.listPartitionReassignments({ topics: [{ topic, partitions: [partition] }] })).topics.length,
  alter_group_offsets: async (admin, { group, topic, offsets }) =>
    admin.setOffsets({ groupId: group, topic, partitions: numbered(offsets) }),
  group_offsets: async (admin, { group, topic }) => {
    const [found] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    const committed = found.partitions.filter(({ offset }) => offset !== '-1')
    return Object.fromEntries(committed.map(({ partition, offset }) => [partition, Number(offset)]))
  },
  list_groups: async (admin, { prefix }) =>
    withPrefix((await admin.listGroups()).groups.map(({ groupId }) => groupId), prefix),
  describe_group: async (admin, { group }) => {
    const { groups: [{ errorCode, state, members }] } = await admin.describeGroups([group])
    return { errorCode, state, members: members.length }
  },
  delete_group: async (admin, { group }) => (await admin.deleteGroups([group])).map(({ errorCode }) => errorCode),
  describe_cluster: async admin => (await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId).sort(),
  describe_acls: async admin => (await admin.describeAcls({
    resourceType: AclResourceTypes.ANY,
    resourcePatternType: ResourcePatternTypes.ANY,
    operation: AclOperationTypes.ANY,
    permissionType: AclPermissionTypes.ANY,
  })).resources.length,
}

export async function administer(kafka, lines) {
  const admin = kafka.admin()
  await admin.connect()
  for await (const line of lines) {
    const call = JSON.parse(line)
    let answer
    try {
      answer = call.call in CALLS ? { result: (await CALLS[call.call](admin, call)) ?? true } : { unsupported: true }
    } catch (error) {
      answer = { error: named(error) }
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
  }
}

// Some errors are a bag of others: one for each topic or group.
function named(error) {
  if (error.cause) return `${error.name} ${named(error.cause)}`
  const inner = (error.errors ?? error.groups?.map(each => each.error) ?? []).map(each => each.type ?? each.name)
  return [error.type ?? error.name, ...inner].join(' ')
}
