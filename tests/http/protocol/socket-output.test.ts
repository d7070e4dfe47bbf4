import { expect, it } from "vitest";
import { createOutput, type OutgoingSocket, socketLimits } from "@millrace/engine/http/protocol/session/output";

/** A socket whose reader reads its buffer when `take` is called. */
function slowSocket() {
  const waiting: { text: string; done?: (() => void) | undefined }[] = [];
  const state = { paused: false, most: 0 };
  const bytes = (): number => waiting.reduce((sum, { text }) => sum + text.length, 0);
  const socket: OutgoingSocket = {
    OPEN: 1,
    readyState: 1,
    get bufferedAmount() {
      return bytes();
    },
    send(text: unknown, done?: unknown) {
      waiting.push({ text: String(text), done: typeof done === "function" ? () => done() : undefined });
      state.most = Math.max(state.most, bytes());
    },
    pause: () => (state.paused = true),
    resume: () => (state.paused = false),
    terminate: () => undefined,
  };
  const take = (): number => {
    const taken = waiting.splice(0);
    for (const { done } of taken) done?.();
    return taken.length;
  };
  return { socket, state, take };
}

it("commands are not read while too many answers are unread, and are read afterwards", () => {
  const { socket, state, take } = slowSocket();
  const output = createOutput(socket);
  const answer = "a".repeat(socketLimits.answers / 4);
  for (let count = 0; count < 4; count++) output.answer(answer);
  expect(state.paused).toBe(false);
  output.answer(answer);
  expect(state.paused).toBe(true);
  expect(take()).toBe(5);
  expect(state.paused).toBe(false);
});

it("only one of many subscriptions can fill the buffer of a slow reader", async () => {
  const { socket, state, take } = slowSocket();
  const output = createOutput(socket);
  const event = "e".repeat(socketLimits.behind);
  const all = Array.from({ length: 50 }, () => output.sendInTurn(event));
  await Promise.resolve();
  expect(state.most).toBeLessThanOrEqual(3 * socketLimits.behind);
  let left = 50;
  while (left > 0) {
    left -= take();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await Promise.all(all);
  expect(state.most).toBeLessThanOrEqual(3 * socketLimits.behind);
});
