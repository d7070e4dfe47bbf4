import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { AppError, hasCode } from "@millrace/engine/errors/errors";

/** Maximum unpacked bytes of a document, and number of parts. */
const [maxBytes, maxParts] = [64 * 1024 * 1024, 10_000];

/** ZIP signatures (APPNOTE 6.3.10, 4.3): end record, directory entry, local file. */
const [endMark, entryMark, fileMark] = [0x06054b50, 0x02014b50, 0x04034b50];
const [endLength, entryLength, fileLength] = [22, 46, 30];
/** Maximum bytes of the final comment. */
const maxCommentLength = 65_535;

/**
 * The parts of a ZIP file that `isWanted`, unpacked, by name. Throws `invalid_format` for an incomplete or encrypted
 * file, and `too_large` if it expands to too much, whatever it declares.
 */
export function readParts(file: Uint8Array, isWanted: (name: string) => boolean): Map<string, Buffer> {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const parts = new Map<string, Buffer>();
  let room = maxBytes;
  for (const entry of entriesOf(bytes)) {
    if (!isWanted(entry.name)) continue;
    const content = unpacked(bytes, entry, room);
    room -= content.length;
    parts.set(entry.name, content);
  }
  return parts;
}

/** A ZIP file of these parts, in order; `isPacked`: compressed. */
export function packParts(parts: ReadonlyMap<string, Uint8Array>, { isPacked = false } = {}): Buffer {
  const files: Buffer[] = [];
  const list: Buffer[] = [];
  let offset = 0;
  for (const [path, content] of parts) {
    const name = Buffer.from(path);
    const data = isPacked ? deflateRawSync(content) : content;
    const head = Buffer.alloc(fileLength);
    head.writeUInt32LE(fileMark, 0);
    head.writeUInt16LE(20, 4);
    // Names are UTF-8.
    head.writeUInt16LE(0x0800, 6);
    head.writeUInt16LE(isPacked ? 8 : 0, 8);
    // The format's first day; without a date some programs consider the file damaged.
    head.writeUInt16LE(0x0021, 12);
    head.writeUInt32LE(crc32(content), 14);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt32LE(content.length, 22);
    head.writeUInt16LE(name.length, 26);
    const entry = Buffer.alloc(entryLength);
    entry.writeUInt32LE(entryMark, 0);
    entry.writeUInt16LE(20, 4);
    head.copy(entry, 6, 4, 30);
    entry.writeUInt32LE(offset, 42);
    files.push(head, name, Buffer.from(data));
    list.push(entry, name);
    offset += head.length + name.length + data.length;
  }
  const listed = Buffer.concat(list);
  const end = Buffer.alloc(endLength);
  end.writeUInt32LE(endMark, 0);
  end.writeUInt16LE(parts.size, 8);
  end.writeUInt16LE(parts.size, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, listed, end]);
}

/**
 * The ZIP file with one part replaced: the others stay byte for byte. Throws what `readParts` throws, and
 * `invalid_format` if the part is missing or duplicate.
 */
export function replacePart(file: Uint8Array, name: string, content: Uint8Array): Buffer {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const entries = entriesOf(bytes);
  const [entry, another] = entries.filter((one) => one.name === name);
  if (entry === undefined || another !== undefined) throw broken();
  const end = endOf(bytes);
  const [listLength, listAt] = [bytes.readUInt32LE(end + 12), bytes.readUInt32LE(end + 16)];
  const { begin } = placeOf(bytes, entry);
  // A part may be followed by a data descriptor, which is removed with it.
  const next = Math.min(...entries.map(({ offset }) => offset).filter((offset) => offset > entry.offset), listAt);
  const packed = deflateRawSync(content);
  const head = Buffer.from(bytes.subarray(entry.offset, begin));
  const list = Buffer.from(bytes.subarray(listAt, listAt + listLength));
  describePart(head, 6, { content, packed });
  const moved = entry.offset + head.length + packed.length - next;
  let at = 0;
  for (const { name: one, offset } of entries) {
    if (one === name) describePart(list, at + 8, { content, packed });
    if (offset > entry.offset) list.writeUInt32LE(offset + moved, at + 42);
    at += entryLength + list.readUInt16LE(at + 28) + list.readUInt16LE(at + 30) + list.readUInt16LE(at + 32);
  }
  const tail = Buffer.from(bytes.subarray(end));
  tail.writeUInt32LE(listAt + moved, 16);
  return Buffer.concat([bytes.subarray(0, entry.offset), head, packed, bytes.subarray(next, listAt), list, tail]);
}

/** Writes a part's compression into its header, whose flags are at `at`. Name and time stay. */
function describePart(head: Buffer, at: number, { content, packed }: { content: Uint8Array; packed: Buffer }): void {
  // The sizes are in the header, not in a data descriptor.
  head.writeUInt16LE(head.readUInt16LE(at) & ~0x0008, at);
  head.writeUInt16LE(8, at + 2);
  head.writeUInt32LE(crc32(content), at + 8);
  head.writeUInt32LE(packed.length, at + 12);
  head.writeUInt32LE(content.length, at + 16);
}

interface Entry {
  name: string;
  isEncrypted: boolean;
  method: number;
  packedLength: number;
  offset: number;
}

function entriesOf(bytes: Buffer): Entry[] {
  const end = endOf(bytes);
  const count = bytes.readUInt16LE(end + 10);
  if (count > maxParts) throw tooLarge();
  const entries: Entry[] = [];
  let at = bytes.readUInt32LE(end + 16);
  for (let index = 0; index < count; index += 1) {
    if (at + entryLength > bytes.length || bytes.readUInt32LE(at) !== entryMark) throw broken();
    const lengths = [bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32)] as const;
    entries.push({
      name: bytes.toString("utf8", at + entryLength, at + entryLength + lengths[0]),
      isEncrypted: (bytes.readUInt16LE(at + 8) & 1) === 1,
      method: bytes.readUInt16LE(at + 10),
      packedLength: bytes.readUInt32LE(at + 20),
      offset: bytes.readUInt32LE(at + 42),
    });
    at += entryLength + lengths[0] + lengths[1] + lengths[2];
  }
  return entries;
}

function endOf(bytes: Buffer): number {
  const first = Math.max(0, bytes.length - endLength - maxCommentLength);
  for (let at = bytes.length - endLength; at >= first; at -= 1) if (bytes.readUInt32LE(at) === endMark) return at;
  throw broken();
}

/** The range of a part's bytes. */
function placeOf(bytes: Buffer, { packedLength, offset }: Entry): { begin: number; end: number } {
  if (offset + fileLength > bytes.length || bytes.readUInt32LE(offset) !== fileMark) throw broken();
  const begin = offset + fileLength + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
  if (begin + packedLength > bytes.length) throw broken();
  return { begin, end: begin + packedLength };
}

function unpacked(bytes: Buffer, entry: Entry, room: number): Buffer {
  const { isEncrypted, method } = entry;
  if (isEncrypted) {
    throw new AppError("invalid_format", "It is protected with a password.", {
      suggestion: "Ask the user for a copy without a password.",
    });
  }
  const { begin, end } = placeOf(bytes, entry);
  const packed = bytes.subarray(begin, end);
  if (method === 0) {
    if (packed.length > room) throw tooLarge();
    return packed;
  }
  if (method !== 8) throw broken();
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, room) });
  } catch (error) {
    throw hasCode(error, "ERR_BUFFER_TOO_LARGE") ? tooLarge() : broken(error);
  }
}

function broken(cause?: unknown): AppError {
  return new AppError("invalid_format", "It is damaged or cut off: no such file can be unpacked.", {
    suggestion: "Ask the user for a whole copy.",
    cause,
  });
}

function tooLarge(): AppError {
  return new AppError("too_large", `It unpacks to more than ${maxBytes / 1024 / 1024} MB, which is not read.`, {
    suggestion: "Ask the user for a smaller document, or for the part that matters.",
  });
}
