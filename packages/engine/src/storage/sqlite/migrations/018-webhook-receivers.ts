import { z } from "zod";
import type { Migration } from "../migrations.ts";

const columns = `
  ALTER TABLE webhooks ADD COLUMN host TEXT NOT NULL DEFAULT '';
  ALTER TABLE webhooks ADD COLUMN owner TEXT;
`;
const WrittenRow = z.object({ webhook_id: z.number(), url: z.string() });

/**
 * Receiver and owner, so that one slow receiver does not keep others waiting. Of older rows only the receiver is
 * known.
 */
export const webhookReceivers: Migration = {
  id: 18,
  name: "webhook-receivers",
  up(database) {
    database.raw.exec(columns);
    const write = database.raw.prepare("UPDATE webhooks SET host = @host WHERE webhook_id = @webhook_id");
    for (const row of database.raw.prepare("SELECT webhook_id, url FROM webhooks").all()) {
      const { webhook_id, url } = WrittenRow.parse(row);
      write.run({ webhook_id, host: URL.canParse(url) ? new URL(url).host : "" });
    }
  },
};
