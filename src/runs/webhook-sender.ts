import { createHmac } from "node:crypto";
import { AppError, errorMessage, isAppError } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { WebhookSettings } from "../settings/webhook-settings.ts";
import type { Webhook, WebhookStore } from "../storage/webhooks.ts";
import type { WebRules } from "../web/web-get.ts";
import { webPost } from "../web/web-post.ts";
import { Alarm } from "./alarm.ts";
import { isOwnPath } from "./own-path.ts";

const second = 1000;
const minute = 60 * second;
/** How long is waited after each try that failed; after the last one it is given up. */
const pauses = [second, 5 * second, 30 * second, 2 * minute, 10 * minute, 60 * minute, 180 * minute];
/** So many are told at once. */
const atOnce = 8;
/** Milliseconds that a receiver has to answer. */
const patience = 10 * second;

/** What the sender of webhooks needs. */
export interface WebhookSenderParts extends Pick<WebRules, "find" | "open"> {
  store: WebhookStore;
  settings: WebhookSettings;
  logger: Logger;
  /** Milliseconds between two tries. Default up to three hours. */
  pauses?: readonly number[];
}

/**
 * Tells the ends of runs to those who asked for it (wire contract, 2.4): at least once, in the order of time, again with
 * growing pauses when the receiver does not take it, also after a restart. Nothing is asked for again: one timer runs to what
 * is due next. Only addresses of the public web, and those that the operator has named, are told (S13 in reliability.md).
 */
export class WebhookSender {
  readonly #parts: WebhookSenderParts;
  readonly #alarm = new Alarm(() => this.#tellDue());
  readonly #stopped = new AbortController();
  #ownUrl: string | undefined;

  constructor(parts: WebhookSenderParts) {
    this.#parts = parts;
  }

  /** Begins with what a former process has left; `ownUrl` is where paths of this server are found. */
  start(ownUrl: string): void {
    // Who listens on all addresses is found at the one of this machine.
    this.#ownUrl = ownUrl.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
    this.#alarm.bring(0);
  }

  /** Something new is to be told. */
  wake(): void {
    if (this.#ownUrl !== undefined) this.#alarm.bring(Date.now());
  }

  /** Tells nothing more; what is under way is broken off, and told by the next start. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#alarm.stop();
  }

  async #tellDue(): Promise<number | undefined> {
    const { store, logger } = this.#parts;
    try {
      const due = await store.due(new Date().toISOString(), atOnce);
      await Promise.all(due.map((webhook) => this.#tell(webhook)));
      const next = await store.next();
      return next === undefined ? undefined : Date.parse(next);
    } catch (error) {
      logger.error({ err: error }, "webhooks_not_told");
      return Date.now() + minute;
    }
  }

  async #tell(webhook: Webhook): Promise<void> {
    const { store, logger, pauses: waits = pauses } = this.#parts;
    const { webhook_id, run_id, attempts } = webhook;
    try {
      await this.#post(webhook);
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      const problem = { run_id, attempts: attempts + 1, problem: errorMessage(error) };
      const pause = isAppError(error) && error.code === "blocked" ? undefined : waits[attempts];
      if (pause !== undefined) {
        logger.warn(problem, "webhook_not_taken");
        await store.postpone(webhook_id, new Date(Date.now() + pause).toISOString());
        return;
      }
      logger.error(problem, "webhook_given_up");
    }
    await store.remove(webhook_id);
  }

  async #post({ run_id, url, body: written }: Webhook): Promise<void> {
    const { settings, find, open } = this.#parts;
    const sentAt = new Date();
    const body = `${written.slice(0, -1)},"webhook_sent_at":"${sentAt.toISOString()}"}`;
    const own = isOwnPath(url) ? new URL(url, this.#ownUrl) : undefined;
    const status = await webPost(
      {
        address: own?.href ?? url,
        headers: { "content-type": "application/json", ...signed(run_id, sentAt, body, settings.secret) },
        body,
        within: patience,
      },
      {
        allowed: own === undefined ? settings.allowed : [own.host],
        ...(find && { find }),
        ...(open && { open }),
      },
      this.#stopped.signal,
    );
    if (status < 200 || status > 299) {
      throw new AppError("network", `The receiver answered with ${status}.`, { recoverable: true });
    }
  }
}

/**
 * The headers by which a receiver knows a message that came before (its id is the run's), and that it is ours and whole (in
 * the form of standardwebhooks.com).
 */
function signed(id: string, sentAt: Date, body: string, secret: string | undefined): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / second));
  const known = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (secret === undefined) return known;
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...known, "webhook-signature": `v1,${digest}` };
}
