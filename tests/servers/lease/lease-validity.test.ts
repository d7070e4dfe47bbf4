import { expect, it } from "vitest";
import { isLeaseValid } from "@millrace/engine/storage/postgres/servers/lease-validity";

const lease = { ttl: 5_000, margin: 1_000 };
const sent = { monotonic: 100, wall: 1_000_000 };

it.each([
  ["right after the beat was sent", 0, 0, true],
  ["while the lease lasts", 3_999, 3_999, true],
  ["shortly before it ends", 4_000, 4_000, false],
  ["where the machine slept, and its own clock with it", 10, 60_000, false],
  ["where the clock of the wall was set back", 3_000, -3_600_000, true],
  ["where that was set back, and the lease is over", 6_000, -3_600_000, false],
])("a lease is relied on %s: %d ms, by the wall %d ms", (_when, monotonic, wall, trusted) => {
  const at = { monotonic: sent.monotonic + monotonic, wall: sent.wall + wall };
  expect(isLeaseValid(sent, at, lease)).toBe(trusted);
});
