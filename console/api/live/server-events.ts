/** An event of a stream as it was sent: its id, its name, and its data as text. */
export interface ServerEvent {
  id: string;
  name: string;
  data: string;
}

/** Reads server-sent events to their end. Comments and events without data are left out. */
export async function readServerEvents({ body }: Response, take: (event: ServerEvent) => void): Promise<void> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return;
    const frames = (rest + part.value).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const event = eventOf(frame);
      if (event !== undefined) take(event);
    }
  }
}

function eventOf(frame: string): ServerEvent | undefined {
  let [id, name] = ["", "message"];
  const data: string[] = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("id: ")) id = line.slice(4);
    else if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  return data.length === 0 ? undefined : { id, name, data: data.join("\n") };
}
