import { expect, it } from "vitest";
import { isLeaseValid } from "@millrace/engine/storage/postgres/servers/lease-validity";

const lease = { ttl: 5_000, margin: 1_000 };
const sent = { monotonic: 100, wall: 1_000_000 };

it.each([
  ["right after the heartbeat", 0, 0, true],
  ["before it expires", 3_999, 3_999, true],
  ["shortly before it expires", 4_000, 4_000, false],
  ["where the machine and its monotonic clock slept", 10, 60_000, false],
  ["where the wall clock was set back", 3_000, -3_600_000, true],
  ["where that was set back, and the lease has expired", 6_000, -3_600_000, false],
])("a lease is checked %s: monotonic %d ms, wall clock %d ms", (_when, monotonic, wall, trusted) => {
  const at = { monotonic: sent.monotonic + monotonic, wall: sent.wall + wall };
  expect(isLeaseValid(sent, at, lease)).toBe(trusted);
});
