/** Width and height in pixels. */
export interface ImageSize {
  width: number;
  height: number;
}

/** Bytes examined: in JPEGs the size follows metadata and previews of up to 64 KB each. */
const lookedAt = 256 * 1024;

const dataUrl = /^data:image\/[a-z.+-]+;base64,/iu;

/** The size of a PNG, JPEG or WebP in a data URL, by its header; `undefined` for anything else. */
export function sizeOfDataUrl(url: string): ImageSize | undefined {
  const head = dataUrl.exec(url.slice(0, 100))?.[0];
  if (head === undefined) return undefined;
  return imageSize(Buffer.from(url.slice(head.length, head.length + Math.ceil(lookedAt / 3) * 4), "base64"));
}

/** The size of a PNG, JPEG or WebP by its header; `undefined` if that is cut off, wrong or of another format. */
export function imageSize(bytes: Buffer): ImageSize | undefined {
  const size = sizeOfPng(bytes) ?? sizeOfJpeg(bytes) ?? sizeOfWebp(bytes);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeOfPng(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 24 || bytes.toString("latin1", 0, 8) !== "\u0089PNG\r\n\u001A\n") return undefined;
  return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/** Scans the segments for the frame header. */
function sizeOfJpeg(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xff_d8) return undefined;
  let at = 2;
  while (at + 9 <= bytes.length) {
    if (bytes[at] !== 0xff) return undefined;
    const marker = bytes[at + 1] ?? 0;
    const isFiller = marker === 0xff;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    at += isFiller ? 1 : 2 + Math.max(2, bytes.readUInt16BE(at + 2));
  }
  return undefined;
}

/** WebP has three kinds of first chunk, with the size in different formats. */
function sizeOfWebp(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < 30 || bytes.toString("latin1", 0, 4) !== "RIFF") return undefined;
  switch (bytes.toString("latin1", 8, 16)) {
    case "WEBPVP8 ":
      return { width: bytes.readUInt16LE(26) & 0x3f_ff, height: bytes.readUInt16LE(28) & 0x3f_ff };
    case "WEBPVP8L": {
      const bits = bytes.readUInt32LE(21);
      return { width: (bits & 0x3f_ff) + 1, height: ((bits >>> 14) & 0x3f_ff) + 1 };
    }
    case "WEBPVP8X":
      return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
