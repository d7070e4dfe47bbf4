import { AppError } from "@millrace/engine/errors/errors";
import { isOwnPath } from "@millrace/engine/runs/webhook-sender";
import type { WebhookSettings } from "@millrace/engine/config/webhook-settings";
import { readWebAddress } from "@millrace/engine/net/web-address";

/**
 * Refuses a webhook that would not be told: no address of the web and no path of this server, or a host that is not in
 * the public internet and that the operator has not named.
 */
export function checkWebhook(url: string, { allowed }: WebhookSettings): void {
  if (isOwnPath(url)) return;
  try {
    readWebAddress(url, allowed);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "blocked") throw error;
    throw new AppError("blocked", `webhook: ${error.message}`, {
      suggestion: "Use a public address, or have the operator name the host in MILLRACE_WEBHOOK_ALLOW.",
      cause: error,
    });
  }
}
