/** Bytes at the beginning of a page in which it may say how it is encoded. */
const headLength = 2048;

/**
 * The text of a page: by its byte order mark, else as the server says, else as the page says of itself, else UTF-8.
 * What is not valid in it is replaced.
 */
export function decodePage(body: Buffer, contentType: string): string {
  const told = /charset\s*=\s*["']?([\w.:-]+)/iu.exec(contentType)?.[1];
  return decode(body, markOf(body) ?? told ?? metaCharset(body));
}

function markOf(body: Buffer): string | undefined {
  if (body[0] === 0xff && body[1] === 0xfe) return "utf-16le";
  if (body[0] === 0xfe && body[1] === 0xff) return "utf-16be";
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? "utf-8" : undefined;
}

/** A page that can say so in ASCII is not UTF-16, whatever it says. */
function metaCharset(body: Buffer): string | undefined {
  const head = body.subarray(0, headLength).toString("latin1");
  const told = /<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)/iu.exec(head)?.[1];
  return told !== undefined && /^utf-?16/iu.test(told) ? "utf-8" : told;
}

function decode(body: Buffer, label: string | undefined): string {
  try {
    return new TextDecoder(label).decode(body);
  } catch {
    // A name that nobody knows says nothing.
    return new TextDecoder().decode(body);
  }
}
