// A member of a group, until it is told to leave.
const tell = event => process.stdout.write(JSON.stringify(event) + '\n')

export async function join(kafka, member, lines) {
  const lacks = member.protocol === 'consumer' ? 'KIP-848'
    : member.assignor === 'cooperative-sticky' ? 'cooperative rebalances'
      : member.instance !== null ? 'static members' : null
  if (lacks !== null) return tell({ unsupported: lacks })
  const consumer = kafka.consumer({
    groupId: member.group,
    sessionTimeout: member.session_ms,
    heartbeatInterval: member.heartbeat_ms,
    maxWaitTimeInMs: 200,
    allowAutoTopicCreation: false,
  })
  const next = new Map() // the offset after what was read, by partition that it has
  const assign = partitions => {
    next.clear()
    tell({ assigned: partitions })
  }
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assign(payload.memberAssignment[member.topic] ?? []))
  consumer.on(consumer.events.REBALANCING, () => assign([]))
  consumer.on(consumer.events.CRASH, ({ payload }) => tell({ error: payload.error.type ?? payload.error.name }))
  await consumer.connect()
  await consumer.subscribe({ topics: [member.topic], fromBeginning: member.reset === 'earliest' })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ partition, message }) => {
      next.set(partition, Number(message.offset) + 1)
      tell({ read: [[partition, Number(message.offset), message.value.toString()]] })
    },
  })
  for await (const line of lines) {
    if (JSON.parse(line).do === 'close') break
    await consumer.commitOffsets([...next].map(([partition, offset]) =>
      ({ topic: member.topic, partition, offset: String(offset) })))
    tell({ committed: true })
  }
  await consumer.disconnect()
  tell({ closed: true })
}
