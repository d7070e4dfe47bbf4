/** How ends of runs are told to whoever asked for it. A secret: never log, trace or send this object. */
export interface WebhookSettings {
  /** Hosts, or `host:port`, that may be told although they are not in the public internet. */
  allowed: string[];
  /** What the messages are signed with; `undefined`: they are not signed. */
  secret: string | undefined;
}

/** What the environment says of webhooks. */
export function webhookSettings(values: {
  MILLRACE_WEBHOOK_ALLOW: string[];
  MILLRACE_WEBHOOK_SECRET?: string | undefined;
}): WebhookSettings {
  return { allowed: values.MILLRACE_WEBHOOK_ALLOW, secret: values.MILLRACE_WEBHOOK_SECRET };
}
