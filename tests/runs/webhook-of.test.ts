import { expect, it } from "vitest";
import { webhookBody } from "@millrace/engine/http/requests/runs";
import { createLogger } from "@millrace/engine/logger";
import { webhookOf } from "@millrace/engine/runs/attempt/end";
import { runRecord } from "../contract/records.ts";
import { createTestStorage } from "../support/test-storage.ts";

it("sends the end of a run whose values cannot be written, without them", async () => {
  const run = runRecord("r1", "s1");
  const webhook = await webhookOf(
    { ...run, kwargs: { ...run.kwargs, webhook: "https://receiver.test/ends" } },
    { status: "success", session_status: "idle", interrupts: {} },
    {
      broken: {
        get toJSON(): never {
          throw new TypeError("no JSON of this");
        },
      },
    },
    { storage: createTestStorage(), webhookBody, logger: createLogger("silent") },
  );
  expect(JSON.parse(webhook?.body ?? "")).toMatchObject({ run_id: "r1", status: "success", values: null });
  expect(webhook).toMatchObject({ url: "https://receiver.test/ends", host: "receiver.test" });
});
