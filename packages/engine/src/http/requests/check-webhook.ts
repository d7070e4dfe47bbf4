import { AppError } from "../../errors/errors.ts";
import { isOwnPath } from "../../runs/webhook-sender.ts";
import type { WebhookSettings } from "../../config/webhook-settings.ts";
import { readWebAddress } from "../../net/web-address.ts";

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
