import type { WebhookSettings } from "../../config/tool-settings.ts";
import { AppError } from "../../errors/errors.ts";
import { readWebAddress } from "../../net/checked-agent.ts";
import { isOwnPath } from "../../runs/webhook-sender.ts";

/**
 * Refuses a webhook that could not be called: neither a web address nor a path of this server, or a host outside the
 * public internet that the operator has not allowed.
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
