import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepAlive } from "@millrace/engine/http/protocol/session/socket";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A socket that counts how often it is asked, and whether it was given up. */
function askedSocket() {
  const events = new EventEmitter();
  const state = { asked: 0, isGone: false, isPaused: false };
  const stop = keepAlive({
    on: (event, listener) => events.on(event, listener),
    ping: () => (state.asked += 1),
    terminate: () => (state.isGone = true),
    get isPaused() {
      return state.isPaused;
    },
  });
  return { state, stop, answer: () => events.emit("pong") };
}

it("gives up who answers nothing for two minutes", () => {
  const { state, stop } = askedSocket();
  vi.advanceTimersByTime(120_000);
  expect(state).toMatchObject({ asked: 4, isGone: false });
  vi.advanceTimersByTime(30_000);
  expect(state).toMatchObject({ asked: 4, isGone: true });
  stop();
});

it("keeps who answers late: on a slow link the question stands behind what is to be read first", () => {
  const { state, stop, answer } = askedSocket();
  for (let round = 0; round < 10; round += 1) {
    vi.advanceTimersByTime(100_000);
    answer();
  }
  expect(state.isGone).toBe(false);
  stop();
  const { asked } = state;
  vi.advanceTimersByTime(300_000);
  expect(state).toMatchObject({ asked, isGone: false });
});

it("asks nothing of one that is not read, because it has to take its answers first", () => {
  const { state, stop } = askedSocket();
  state.isPaused = true;
  vi.advanceTimersByTime(300_000);
  expect(state).toMatchObject({ asked: 0, isGone: false });
  stop();
});
