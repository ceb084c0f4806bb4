import kafkajs from 'kafkajs'

export function connect(settings, more = {}) {
  const { sasl, ...others } = settings
  if (!sasl?.token) return new kafkajs.Kafka({ ...settings, ...more })
  const oauthBearerProvider = async () => ({ value: sasl.token })
  return new kafkajs.Kafka({ ...others, sasl: { mechanism: 'oauthbearer', oauthBearerProvider }, ...more })
}
