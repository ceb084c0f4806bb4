// KafkaJS. gzip is its own; the other codecs are plugged in, as its documentation says.
import { createInterface } from 'node:readline'
import { createRequire } from 'node:module'

import { administer } from './administrator.mjs'
import { join } from './member.mjs'

const require = createRequire(import.meta.url)
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const zstd = require('@bokuweb/zstd-wasm')
const lz4 = require('lz4-napi') // Kafka takes only frames of independent blocks, which not every package writes

await zstd.init()
const compressOnly = compress => () => ({
  compress: async encoder => Buffer.from(await compress(encoder.buffer)),
  decompress: async () => { throw new Error('nothing compressed is read here') },
})
CompressionCodecs[CompressionTypes.Snappy] = require('kafkajs-snappy')
CompressionCodecs[CompressionTypes.LZ4] = compressOnly(lz4.compressFrame)
CompressionCodecs[CompressionTypes.ZSTD] = compressOnly(data => zstd.compress(data, 3))
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const bytes = text => (text === null ? null : Buffer.from(text, 'base64'))

async function runJob(bootstrap, job) {
  const kafka = new Kafka({
    brokers: bootstrap.split(','),
    logLevel: logLevel.NOTHING,
    requestTimeout: job.timeout_ms + 3000, // longer than what the broker is told, so that the broker's word is heard
    retry: { retries: job.retries ? 30 : 0, initialRetryTime: 100, maxRetryTime: 500 },
  })
  const inTransaction = job.transactional_id ? { transactionalId: job.transactional_id, maxInFlightRequests: 1 } : {}
  const producer = kafka.producer({ idempotent: job.idempotent, allowAutoTopicCreation: false, ...inTransaction })
  await producer.connect()
  const sender = job.transactional_id ? await producer.transaction() : producer
  const pausedAt = job.pause_before ?? 0
  const results = await send(sender, job, job.records.slice(0, pausedAt))
  if (pausedAt > 0) {
    console.log('paused')
    await lines.next()
  }
  results.push(...(await send(sender, job, job.records.slice(pausedAt))))
  if (job.transactional_id) results.push(await commit(sender))
  await producer.disconnect()
  return results
}

async function commit(transaction) {
  try {
    await transaction.commit()
  } catch (error) {
    return { error: (error.cause ?? error).type ?? error.name }
  }
  return { partition: null, offset: null }
}

// One send() is one batch for each partition, and one answer: the base offset of each, or one error for all.
async function send(producer, job, records) {
  if (records.length === 0) return []
  let answer
  try {
    answer = await producer.send({
      topic: job.topic,
      acks: job.acks,
      timeout: job.timeout_ms,
      compression: CODECS[job.codec],
      messages: records.map(record => ({
        partition: record.partition,
        key: bytes(record.key),
        value: bytes(record.value),
        headers: headers(record.headers),
        timestamp: String(record.timestamp_ms),
      })),
    })
  } catch (error) {
    const cause = error.cause ?? error
    return records.map(() => ({ error: cause.type ?? cause.name }))
  }
  const next = new Map(answer.map(({ partition, baseOffset }) => [partition, Number(baseOffset ?? -1)]))
  return records.map(({ partition }) => {
    if (!next.has(partition)) return { partition: null, offset: null } // acks=0: nothing is told
    const offset = next.get(partition)
    if (offset >= 0) next.set(partition, offset + 1)
    return { partition, offset }
  })
}

function headers(pairs) {
  const found = {}
  for (const [name, value] of pairs) (found[name] ??= []).push(bytes(value))
  return found
}

async function runJobs(plan) {
  const jobs = []
  for (const job of plan.jobs) {
    const unsupported = job.records.some(record => record.headers.some(([, value]) => value === null))
    jobs.push(unsupported
      ? { name: job.name, unsupported: 'a header with a null value' }
      : { name: job.name, results: await runJob(plan.bootstrap, job) })
  }
  const report = JSON.stringify({ client: 'KafkaJS', version: require('kafkajs/package.json').version, jobs })
  process.stdout.write(report + '\n', () => process.exit(0)) // not before all of it is written
}

const plan = JSON.parse((await lines.next()).value)
const kafka = new Kafka({ brokers: plan.bootstrap.split(','), logLevel: logLevel.NOTHING })
if (plan.member) await join(kafka, plan.member, lines)
else if (plan.administrator) await administer(kafka, lines)
else await runJobs(plan)
