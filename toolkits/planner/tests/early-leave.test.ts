import { once } from "node:events";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { expect, test } from "vitest";
import { answerNobody } from "../../../tests/support/requests/answer-nobody.ts";
import { wholeAnswer } from "../routes/chat-answer.ts";

test("no words are gathered for a client that has left while its run was begun, and its leaving is told", async () => {
  let left = 0;
  let told: unknown = "nothing yet";
  await answerNobody(async (context) => {
    told = await wholeAnswer(context, {
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
  expect([told, left]).toEqual([undefined, 1]);
});
