import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { imageSize, sizeOfDataUrl } from "../../src/context/tokens/image-size.ts";
import { countImage, countImagePart } from "../../src/context/tokens/image-tokens.ts";

const png = Buffer.from("89504e470d0a1a0a0000000d49484452000002800000016808060000", "hex");
const jpeg = Buffer.from("ffd8ffe000104a46494600010100000100010000ffc000110804b006400301220002110103", "hex");
const lossy = Buffer.from("524946460000000057454250565038200000000000000000009d012a20037002", "hex");
lossy.writeUInt16LE(800, 26);
lossy.writeUInt16LE(624, 28);
const lossless = Buffer.alloc(30);
lossless.write("RIFF0000WEBPVP8L");
lossless.writeUInt32LE((300 - 1) | ((200 - 1) << 14), 21);
const extended = Buffer.alloc(30);
extended.write("RIFF0000WEBPVP8X");
extended.writeUIntLE(5000 - 1, 24, 3);
extended.writeUIntLE(100 - 1, 27, 3);

const urlOf = (bytes: Buffer, type = "png"): string => `data:image/${type};base64,${bytes.toString("base64")}`;

describe("the size of an image", () => {
  it.each([
    ["a PNG", png, { width: 640, height: 360 }],
    ["a JPEG behind its first segment", jpeg, { width: 1600, height: 1200 }],
    ["a lossy WebP", lossy, { width: 800, height: 624 }],
    ["a lossless WebP", lossless, { width: 300, height: 200 }],
    ["an extended WebP", extended, { width: 5000, height: 100 }],
  ])("is read from the header of %s", (_, bytes, size) => {
    expect(imageSize(bytes)).toEqual(size);
    expect(sizeOfDataUrl(urlOf(bytes))).toEqual(size);
  });

  it("is not known of what is cut off, empty, of another kind, or no data URL", () => {
    const cut = [png, jpeg, lossy, lossless, extended].map((bytes) => bytes.subarray(0, 15));
    for (const bytes of [...cut, Buffer.from("GIF89a"), Buffer.alloc(0), Buffer.alloc(64)]) {
      expect(imageSize(bytes)).toBeUndefined();
    }
    expect(sizeOfDataUrl("https://example.test/a.png")).toBeUndefined();
  });

  it("is looked for in any bytes without an error", () => {
    const heads = [png, jpeg.subarray(0, 4), lossy.subarray(0, 16), Buffer.alloc(0)].map((head) => [...head]);
    fc.assert(
      fc.property(fc.constantFrom(...heads), fc.uint8Array({ maxLength: 400 }), (head, rest) => {
        const size = imageSize(Buffer.from([...head, ...rest]));
        expect(size === undefined || size.width * size.height > 0).toBe(true);
      }),
    );
  });
});

describe("the tokens of an image", () => {
  it.each([
    [{ width: 512, height: 512 }, "high", "openai:gpt-4o", 85 + 170],
    [{ width: 513, height: 512 }, "high", "openai:gpt-4o", 85 + 2 * 170],
    [{ width: 1024, height: 1024 }, "auto", "openai:gpt-4o", 85 + 4 * 170],
    [{ width: 512, height: 300 }, "auto", "openai:gpt-4o", 85],
    [{ width: 3000, height: 3000 }, "low", "openai:gpt-4o", 85],
    [{ width: 512, height: 300 }, "low", "zhipu:glm-4v", 85 + 170],
    [{ width: 8192, height: 4096 }, "high", "zhipu:glm-4v", 85 + 8 * 4 * 170],
    [{ width: 100_000, height: 1 }, "high", "zhipu:glm-4v", 85 + 8 * 170],
  ] as const)("of %j looked at with %s by %s are %i", (size, detail, model, tokens) => {
    expect(countImage(size, detail, model)).toBe(tokens);
  });

  it("are found for every way in which a message writes an image, and for nothing else", () => {
    const url = urlOf(png);
    const tokens = 85 + 2 * 170;
    expect(countImagePart({ type: "image_url", image_url: url })).toBe(tokens);
    expect(countImagePart({ type: "image_url", image_url: { url } })).toBe(tokens);
    expect(countImagePart({ type: "image_url", image_url: { url, detail: "low" } })).toBe(85);
    expect(countImagePart({ type: "image", data: png.toString("base64"), mime_type: "image/png" })).toBe(tokens);
    expect(countImagePart({ type: "image_url", image_url: { url: "https://example.test/a.png" } })).toBe(85 + 4 * 170);
    expect(countImagePart({ type: "text", text: url })).toBeUndefined();
  });
});
