import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepAlive } from "@millrace/engine/http/protocol/session/socket";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** A socket that counts its pings, and whether it was terminated. */
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

it("a socket that answers no ping for two minutes is terminated", () => {
  const { state, stop } = askedSocket();
  vi.advanceTimersByTime(120_000);
  expect(state).toMatchObject({ asked: 4, isGone: false });
  vi.advanceTimersByTime(30_000);
  expect(state).toMatchObject({ asked: 4, isGone: true });
  stop();
});

it("a socket that answers late is kept: on a slow link the ping waits behind the data", () => {
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

it("a socket that is not read gets no ping, since it has to read its answers first", () => {
  const { state, stop } = askedSocket();
  state.isPaused = true;
  vi.advanceTimersByTime(300_000);
  expect(state).toMatchObject({ asked: 0, isGone: false });
  stop();
});
