// KafkaJS over TLS and SASL: each line of stdin is a play, each line of stdout its result.
import { createInterface } from 'node:readline'
import kafkajs from 'kafkajs'

import { connect } from './secured-settings.mjs'

const RETRY = { retries: 1, initialRetryTime: 50 } // a transaction wants one
const client = ({ settings }) => connect(settings, { logLevel: kafkajs.logLevel.NOTHING, retry: RETRY })

const PLAYS = {
  'round trip': async play => {
    const producer = client(play).producer({ allowAutoTopicCreation: false })
    try {
      await producer.connect()
      await producer.send({ topic: play.topic, acks: -1, messages: [{ value: play.value }] })
    } finally {
      await producer.disconnect()
    }
    // KafkaJS reads in a group alone.
    return read(play, play.group)
  },
  group: play => read(play, play.group),
  transaction: async play => {
    const options = { transactionalId: play.transactional_id, idempotent: true, maxInFlightRequests: 1 }
    const producer = client(play).producer({ allowAutoTopicCreation: false, ...options })
    try {
      await producer.connect()
      const transaction = await producer.transaction()
      await transaction.send({ topic: play.topic, messages: [{ value: play.value }] })
      await transaction.commit()
    } finally {
      await producer.disconnect()
    }
    return play.value
  },
}

async function read(play, groupId) {
  const consumer = client(play).consumer({ groupId, allowAutoTopicCreation: false })
  try {
    await consumer.connect()
    await consumer.subscribe({ topic: play.topic, fromBeginning: true })
    return await new Promise((resolve, reject) => {
      consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
      consumer.run({
        eachMessage: async ({ message }) => {
          if (play.do === 'group' || message.value.toString() === play.value) resolve(message.value.toString())
        },
      }).catch(reject)
    })
  } finally {
    await consumer.disconnect()
  }
}

async function done(play) {
  if (!PLAYS[play.do]) throw new Error('there is no such play')
  return PLAYS[play.do](play)
}

function told(error) {
  const first = error.cause ?? error
  return { error: first.type ?? first.name, text: first.message }
}

for await (const line of createInterface({ input: process.stdin })) {
  const play = JSON.parse(line)
  console.log(JSON.stringify(await done(play).then(value => ({ value }), told)))
}
