import { inflateSync } from "node:zlib";

/** A picture as PNG: its size, and how many pixels have a colour, written `#1f77b4`. */
export interface PngPixels {
  width: number;
  height: number;
  count(colour: string): number;
}

/** Reads a PNG of 8 bits with alpha, as the format's specification says. Throws for any other. */
export function readPng(png: Buffer): PngPixels {
  const chunks: [string, Buffer][] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    chunks.push([png.toString("latin1", at + 4, at + 8), png.subarray(at + 8, at + 8 + png.readUInt32BE(at))]);
  }
  const [kind, head] = chunks[0] ?? [];
  if (png.toString("latin1", 1, 4) !== "PNG" || kind !== "IHDR" || head?.readUInt16BE(8) !== 0x08_06)
    throw new Error("This is no PNG of 8 bits with alpha.");
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const data = inflateSync(Buffer.concat(chunks.filter(([name]) => name === "IDAT").map(([, bytes]) => bytes)));
  const row = width * 4;
  const pixels = Buffer.alloc(row * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (row + 1)] ?? 0;
    for (let x = 0; x < row; x += 1) {
      const at = y * row + x;
      const left = x < 4 ? 0 : (pixels[at - 4] ?? 0);
      const up = y === 0 ? 0 : (pixels[at - row] ?? 0);
      const corner = x < 4 || y === 0 ? 0 : (pixels[at - row - 4] ?? 0);
      const guess = [0, left, up, (left + up) >> 1, nearest(left, up, corner)][filter] ?? 0;
      pixels[at] = (data[y * (row + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return {
    width,
    height,
    count(colour) {
      const wanted = Number.parseInt(`${colour.slice(1)}ff`, 16);
      let count = 0;
      for (let at = 0; at < pixels.length; at += 4) if (pixels.readUInt32BE(at) === wanted) count += 1;
      return count;
    },
  };
}

function nearest(left: number, up: number, corner: number): number {
  const sum = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(sum - value));
  if (a === undefined || b === undefined || c === undefined) return 0;
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
