/** What a file holds, as far as the page can show it. */
export type FileContent = { kind: "text"; text: string } | { kind: "picture"; blob: Blob } | { kind: "bytes" };

const pictures: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

/** The type of a picture that the page draws, by the name of its file. A drawing of SVG could hold scripts: it is a text. */
export function pictureType(path: string): string | undefined {
  return pictures[path.split(".").at(-1)?.toLowerCase() ?? ""];
}

/** What a file of an answer holds. */
export async function contentOf(response: Response): Promise<FileContent> {
  const path = response.headers.get("content-disposition") ?? "";
  const bytes = await response.arrayBuffer();
  const type = pictureType(path);
  if (type !== undefined) return { kind: "picture", blob: new Blob([bytes], { type }) };
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    // A PDF without pictures may be one of letters alone, and is no text to be read or changed for that.
    return text.startsWith("%PDF-") ? { kind: "bytes" } : { kind: "text", text };
  } catch {
    return { kind: "bytes" };
  }
}
