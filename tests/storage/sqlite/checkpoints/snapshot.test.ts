import fc from "fast-check";
import { expect, test } from "vitest";
import {
  append,
  type CheckpointBody,
  commonPrefix,
  concat,
  expand,
  type Ranges,
  fromRowText,
  toRowText,
  slice,
  type StoredValue,
} from "@millrace/engine/storage/checkpoints/snapshot";

function rangesOf(sequences: readonly number[]): Ranges {
  const ranges: Ranges = [];
  for (const sequence of sequences) append(ranges, sequence);
  return ranges;
}

const sequences = fc.array(fc.integer({ min: 1, max: 20 }), { maxLength: 30 });

test("ranges expand to the sequences they were made of, however they are cut and joined", () => {
  fc.assert(
    fc.property(sequences, sequences, fc.nat(30), (left, right, cut) => {
      const ranges = rangesOf(left);
      expect(expand(ranges)).toEqual(left);
      expect(expand(slice(ranges, cut))).toEqual(left.slice(cut));
      expect(concat(slice(ranges, 0, cut), slice(ranges, cut))).toEqual(ranges);
      expect(concat(ranges, rangesOf(right))).toEqual(rangesOf([...left, ...right]));
      const shared = commonPrefix(ranges, rangesOf(right));
      expect(left.slice(0, shared)).toEqual(right.slice(0, shared));
    }),
  );
});

const name = fc.constantFrom("a", "b", "c", "__proto__", "messages");
const version = fc.oneof(fc.nat(5), fc.constantFrom("v1", "v2"));
const versions = fc
  .uniqueArray(fc.tuple(name, version), { selector: ([key]) => key })
  .map((entries) => new Map(entries));
const stored: fc.Arbitrary<StoredValue> = fc.oneof(
  fc.jsonValue().map((value): StoredValue => ({ kind: "text", text: JSON.stringify(value) })),
  fc.nat(9).map((key): StoredValue => ({ kind: "blob", key, data: `blob ${key}` })),
  sequences.map((list): StoredValue => ({ kind: "list", ranges: rangesOf(list), live: undefined, weight: 0 })),
);
const body: fc.Arbitrary<CheckpointBody> = fc.record({
  version: fc.constantFrom(1, 4),
  time: fc.oneof(fc.nat(), fc.constant("some day")),
  metadata: fc.constantFrom("{}", '{"step":1}'),
  versions,
  seen: fc.uniqueArray(fc.tuple(name, versions), { selector: ([key]) => key }).map((entries) => new Map(entries)),
  values: fc.uniqueArray(fc.tuple(name, stored), { selector: ([key]) => key }).map((entries) => new Map(entries)),
});

function sorted(of: CheckpointBody): unknown {
  const entries = <Value>(map: ReadonlyMap<string, Value>) =>
    [...map].sort(([left], [right]) => (left < right ? -1 : 1));
  return {
    ...of,
    versions: entries(of.versions),
    seen: entries(of.seen).map(([node, channels]) => [node, entries(channels)]),
    values: entries(of.values),
  };
}

test("a checkpoint is read from its row, stored whole or as a difference from any other", () => {
  fc.assert(
    fc.property(body, body, (base, other) => {
      const blob = (key: number): string => `blob ${key}`;
      expect(sorted(fromRowText(toRowText(other, undefined) ?? "", undefined, blob))).toEqual(sorted(other));
      const difference = toRowText(other, base);
      if (difference !== undefined) expect(sorted(fromRowText(difference, base, blob))).toEqual(sorted(other));
    }),
    { numRuns: 1000 },
  );
});
