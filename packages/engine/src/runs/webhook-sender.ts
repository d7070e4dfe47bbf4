import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { clusterDate, clusterTime } from "../concurrency/cluster-time.ts";
import { AppError, errorMessage, isAppError } from "../errors/errors.ts";
import type { Logger } from "../logger.ts";
import type { WebhookSettings } from "../config/tool-settings.ts";
import type { BusyReceivers, Webhook, WebhookStore } from "../storage/record-stores.ts";
import type { WebRules } from "../net/checked-agent.ts";
import { webPost } from "../net/web-get.ts";
import { Alarm, peerPollInterval } from "./events/alarm.ts";

const second = 1000;
const minute = 60 * second;
/** How long is waited after each try that failed; after the last one it is given up. */
const pauses = [second, 5 * second, 30 * second, 2 * minute, 10 * minute, 60 * minute, 180 * minute];
/** The most webhooks sent at once: in all, to one host, and for one owner (those without an owner are not limited). */
const [atOnce, ofOneHost, ofOneOwner] = [32, 4, 8];
/** Milliseconds that a receiver has to answer. */
const patience = 10 * second;

/** What the sender of webhooks needs. */
export interface WebhookSenderParts extends Pick<WebRules, "find" | "connectTo"> {
  store: WebhookStore;
  settings: WebhookSettings;
  logger: Logger;
  /** Milliseconds between two tries. Default up to three hours. */
  pauses?: readonly number[];
  /** Whether other servers send webhooks of the same store: what one leaves behind is looked for. */
  isShared?: boolean;
}

/**
 * Sends the webhooks of ended runs: at least once, in the order of time, again with growing pauses when the receiver
 * does not take it, also after a restart. It does not poll: one timer runs to the next due date. A receiver that
 * takes its time holds up only itself. Only addresses of the public web, and those that the operator has named, are
 * called.
 */
export class WebhookSender {
  readonly #parts: WebhookSenderParts;
  readonly #alarm: Alarm;
  readonly #stopped = new AbortController();
  readonly #underWay = new Map<number, { webhook: Webhook; delivery: Promise<void> }>();
  #ownUrl: string | undefined;

  constructor(parts: WebhookSenderParts) {
    this.#parts = parts;
    this.#alarm = new Alarm(() => this.#sendDue(), parts.isShared === true ? peerPollInterval : undefined);
  }

  /** Begins with what a former process has left; `ownUrl` is where paths of this server are found. */
  start(ownUrl: string): void {
    // A server that listens on all addresses is reached at the loopback address.
    this.#ownUrl = ownUrl.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
    this.#alarm.scheduleAt(0);
  }

  /** There is a new webhook to send. */
  wake(): void {
    if (this.#ownUrl !== undefined) this.#alarm.scheduleAt(clusterTime());
  }

  /** Sends nothing more; what is under way is aborted and sent again after the next start. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#alarm.stop();
    await Promise.all([...this.#underWay.values()].map(({ delivery }) => delivery));
  }

  /** Sends what is due while there is room. Each one that ends starts the next, so slow receivers do not block others. */
  async #sendDue(): Promise<number | undefined> {
    const { store, logger } = this.#parts;
    try {
      while (this.#underWay.size < atOnce && !this.#stopped.signal.aborted) {
        const webhook = await store.claimDue(clusterDate(), this.#busy());
        if (webhook === undefined) {
          const next = await store.nextDueAt(this.#busy());
          return next === undefined ? undefined : Date.parse(next);
        }
        this.#begin(webhook);
      }
      return undefined;
    } catch (error) {
      logger.error({ err: error }, "webhooks_not_told");
      return clusterTime() + minute;
    }
  }

  #begin(webhook: Webhook): void {
    const { store, logger } = this.#parts;
    const { signal } = this.#stopped;
    const delivery = this.#deliver(webhook)
      .catch(async (error: unknown) => {
        logger.error({ err: error, run_id: webhook.run_id }, "webhooks_not_told");
        // It is still due: a store that refuses is not asked at once again. An abort only ends the wait.
        await sleep(minute, undefined, { signal, ref: false }).catch(() => undefined);
        await store.release(webhook.webhook_id);
      })
      .catch((error: unknown) => logger.error({ err: error, run_id: webhook.run_id }, "webhooks_not_told"))
      .finally(() => {
        this.#underWay.delete(webhook.webhook_id);
        this.#alarm.scheduleAt(clusterTime());
      });
    this.#underWay.set(webhook.webhook_id, { webhook, delivery });
  }

  #busy(): BusyReceivers {
    const underWay = [...this.#underWay.values()].map(({ webhook }) => webhook);
    const owners = underWay.flatMap(({ owner }) => owner ?? []);
    return {
      hosts: named(
        underWay.map(({ host }) => host),
        ofOneHost,
      ),
      owners: named(owners, ofOneOwner),
    };
  }

  async #deliver(webhook: Webhook): Promise<void> {
    const { store, logger, pauses: waits = pauses } = this.#parts;
    const { webhook_id, run_id, attempts } = webhook;
    try {
      await this.#post(webhook);
    } catch (error) {
      if (this.#stopped.signal.aborted) {
        await store.release(webhook_id);
        return;
      }
      const problem = { run_id, attempts: attempts + 1, problem: errorMessage(error) };
      const pause = isAppError(error) && error.code === "blocked" ? undefined : waits[attempts];
      if (pause !== undefined) {
        logger.warn(problem, "webhook_not_taken");
        await store.postpone(webhook_id, new Date(clusterTime() + pause).toISOString());
        return;
      }
      logger.error(problem, "webhook_given_up");
    }
    await store.remove(webhook_id);
  }

  async #post({ run_id, url, body: written }: Webhook): Promise<void> {
    const { settings, find, connectTo } = this.#parts;
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
        find,
        connectTo,
      },
      this.#stopped.signal,
    );
    if (status < 200 || status > 299) {
      throw new AppError("network", `The receiver answered with ${status}.`, { recoverable: true });
    }
  }
}

/** The names that stand in the list at least `minCount` times. */
function named(names: readonly string[], minCount: number): string[] {
  const groups = Map.groupBy(names, (name) => name);
  return [...groups].flatMap(([name, { length }]) => (length < minCount ? [] : [name]));
}

/**
 * The headers by which a receiver knows a message that came before (its id is the run's), and that it is ours and whole
 * (in the form of standardwebhooks.com).
 */
function signed(id: string, sentAt: Date, body: string, secret: string | undefined): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / second));
  const known = { "webhook-id": id, "webhook-timestamp": timestamp };
  if (secret === undefined) return known;
  const key = secret.startsWith("whsec_") ? Buffer.from(secret.slice("whsec_".length), "base64") : secret;
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { ...known, "webhook-signature": `v1,${digest}` };
}

const someBase = "http://millrace.invalid";

/**
 * Whether a webhook is a path of this server. It is judged as it will be read: to an address a backslash is a slash,
 * and tabs and line breaks are nothing, so that a path may lead to any other host.
 */
export function isOwnPath(url: string): boolean {
  return url.startsWith("/") && URL.canParse(url, someBase) && new URL(url, someBase).origin === someBase;
}
