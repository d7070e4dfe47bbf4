import { once } from "node:events";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { expect, test } from "vitest";
import { respondToClosedClient } from "../../../tests/support/requests/closed-client.ts";
import { wholeAnswer } from "../routes/chat-answer.ts";

test("collects no text for a client that disconnected while its run started, and reports the disconnect", async () => {
  let left = 0;
  let answer: unknown = "nothing yet";
  await respondToClosedClient(async (context) => {
    answer = await wholeAnswer(context, {
      events: async function* (signal) {
        yield [];
        if (!signal.aborted) await once(signal, "abort");
      },
      onDisconnect: () => {
        left += 1;
      },
    });
    return RESPONSE_ALREADY_SENT;
  });
  expect([answer, left]).toEqual([undefined, 1]);
});
