import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { packParts, readParts, replacePart } from "../../formats/zip-parts.ts";

const everything = (): boolean => true;
/** A ZIP file of one part, packed, that says of itself what is given. */
function packed(content: Uint8Array, saidLength = content.length): Buffer {
  const data = deflateRawSync(content);
  const plain = packParts(new Map([["a.xml", data]]));
  // Marked as packed, once before the part and once in the list at the end.
  const entry = plain.lastIndexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02]));
  plain.writeUInt16LE(8, 8);
  plain.writeUInt32LE(saidLength, 22);
  plain.writeUInt16LE(8, entry + 10);
  plain.writeUInt32LE(saidLength, entry + 24);
  return plain;
}
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return "read";
  } catch (error) {
    if (isAppError(error)) return error.code;
    throw error;
  }
};

describe("the parts of a ZIP file", () => {
  it("come back as they were packed, whatever they hold", () => {
    const parts = fc.dictionary(fc.string({ minLength: 1, maxLength: 30 }), fc.uint8Array({ maxLength: 200 }));
    fc.assert(
      fc.property(parts, (given) => {
        const map = new Map(Object.entries(given).map(([name, bytes]) => [name.toWellFormed(), bytes]));
        const back = readParts(packParts(map), everything);
        expect([...back].map(([name, bytes]) => [name, [...bytes]])).toEqual(
          [...map].map(([name, bytes]) => [name, [...bytes]]),
        );
      }),
    );
  });

  it("are unpacked, and only those that are wanted", () => {
    expect(
      readParts(packed(Buffer.from("hello")), everything)
        .get("a.xml")
        ?.toString(),
    ).toBe("hello");
    expect(readParts(packed(Buffer.from("hello")), () => false).size).toBe(0);
  });

  it.each([
    ["says so", 200 * 1024 * 1024],
    ["says that it is small", 10],
  ])("that unpack to 200 MB are not read, when the file %s", (_, said) => {
    const bomb = packed(Buffer.alloc(200 * 1024 * 1024), said);
    expect(bomb.length).toBeLessThan(400_000);
    expect(codeOf(() => readParts(bomb, everything))).toBe("too_large");
  });

  it("of which many together are too large are not read", () => {
    const one = Buffer.alloc(30 * 1024 * 1024);
    const parts = new Map(["a", "b", "c"].map((name) => [name, one]));
    expect(codeOf(() => readParts(packParts(parts), everything))).toBe("too_large");
  });

  it("of a protected file are not there", () => {
    const file = packed(Buffer.from("hello"));
    file.writeUInt16LE(1, file.lastIndexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02])) + 8);
    expect(codeOf(() => readParts(file, everything))).toBe("invalid_format");
  });

  it("of a file that is cut off or changed anywhere are read or refused, and nothing else happens", () => {
    const file = packParts(new Map([["word/document.xml", deflateRawSync(Buffer.from("x".repeat(300)))]]));
    for (let length = 0; length < file.length; length += 1) {
      expect(codeOf(() => readParts(file.subarray(0, length), everything))).toBe("invalid_format");
    }
    fc.assert(
      fc.property(fc.nat(file.length - 1), fc.nat(255), (at, value) => {
        const changed = Buffer.from(file);
        changed[at] = value;
        expect(["read", "invalid_format", "too_large"]).toContain(codeOf(() => readParts(changed, everything)));
      }),
      { numRuns: 500 },
    );
  });
});

describe("replacePart", () => {
  it("leaves out the lengths that stand behind a part, and moves those after it", () => {
    // A part whose lengths stand behind it (bit 3), as programs write that stream.
    const plain = packParts(
      new Map([
        ["a", Buffer.from("first")],
        ["b", Buffer.from("second")],
      ]),
    );
    const head = Buffer.from(plain.subarray(0, 31));
    head.writeUInt16LE(0x0808, 6);
    const sizes = Buffer.from(head.subarray(14, 26));
    head.fill(0, 14, 26);
    const descriptor = Buffer.concat([Buffer.from("504b0708", "hex"), sizes]);
    const rest = Buffer.from(plain.subarray(36));
    const list = rest.indexOf(Buffer.from("504b0102", "hex"));
    const second = rest.indexOf(Buffer.from("504b0102", "hex"), list + 4);
    rest.writeUInt16LE(0x0808, list + 8);
    rest.writeUInt32LE(36 + descriptor.length, second + 42);
    rest.writeUInt32LE(36 + descriptor.length + list, rest.length - 6);
    const streamed = Buffer.concat([head, Buffer.from("first"), descriptor, rest]);
    expect(
      readParts(streamed, () => true)
        .get("b")
        ?.toString(),
    ).toBe("second");
    const made = replacePart(streamed, "a", Buffer.from("another"));
    expect([...readParts(made, () => true)].map(([name, part]) => [name, part.toString()])).toEqual([
      ["a", "another"],
      ["b", "second"],
    ]);
    expect(made.includes(descriptor)).toBe(false);
  });

  it("refuses a file that has the part twice, or not at all", () => {
    expect(() => replacePart(packParts(new Map([["a", Buffer.from("x")]])), "b", Buffer.from("y"))).toThrow(/damaged/u);
  });
});
