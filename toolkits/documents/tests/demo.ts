import { deepEqual, equal, match, ok } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { copySamples, sample, type Demo } from "../../../tests/e2e/demo/demo-session.ts";
import { operationsOf, questionOf, turn, undo, wait, withScriptedModel } from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const Edited = z.looseObject({ type: z.literal("document_edited"), operation_id: z.string(), content: z.string() });

const offline = { toolkits: ["files", "documents"] };

/** Word, PDF and other documents are read and made, one is changed in the user's editor, and everything is taken back. */
const documents: Demo = {
  prepare: (workspace, language) => copySamples("documents", workspace, language),
  async perform(server, workspace, language) {
    const { thread_id: thread } = await server.client.threads.create({ metadata: { name: texts[language].name } });
    await readAndSummarize(server, workspace, thread, language);
    await explainBadInput(server, thread, language);
    await makeWordDocument(server, workspace, thread, language);
    await undoToTheByte(server, workspace, thread, language);
    await editInEditor(server, workspace, language);
  },
};

/** What is said in either language, by the user and by the demo. */
const texts = {
  en: {
    name: "Documents",
    title: {
      read: "A Word document with a table and an equation, and a PDF",
      summary: "A summary, as a Word document",
      bad: "A PDF that is only pictures, and Chinese text in an old encoding",
      create: "A Word document is made from HTML",
      undo: "A replaced document comes back, byte for byte",
      editor: "The document in the user's editor, with a preview and an undo (a scripted model)",
    },
    read: "read offer.docx and invoice.pdf",
    row: "| Oak buckets | 24 | 1 920 € |",
    total: /Total 141\.00 EUR/u,
    topic: /wheel/u,
    summarize: "summarize offer.docx to summary.docx",
    readAgain: (path: string) => `read ${path}`,
    html: "<h1>Reply</h1><p>We take the <b>wheel</b>.</p><ul><li>soon</li><li>for 2 920 €</li></ul>",
    create: (html: string) => `create reply.docx with the content "${html}"`,
    reply: /# Reply\n\nWe take the \*\*wheel\*\*\.\n\n- +soon\n\s*- +for 2 920 €/u,
    replace: 'replace the content of offer.docx with "# Offer\n\nNothing any more."',
    now: /\]\n# Offer\n\nNothing any more\.\s*$/u,
    undone: (bytes: number) => `After the undo offer.docx has its ${bytes} bytes again.`,
    warmer: "Make the greeting warmer.",
    letter: "# To the council\r\n\r\nDear all,\r\nwe ask for two days.",
    greetings: ["Dear all,", "Dear friends of the mill,"],
    instruction: "A warmer greeting",
    warm: "The greeting is warmer now.",
    question: /Change letter\.md in your editor \(1 line\(s\) added, 1 removed\)\?/u,
    asks: "The server asks, and shows:",
    approved: "Answer: approve. The editor gets the new text; the file on disk is as it was.",
    back: "Undo gives back the text of before, line ends included.",
  },
  zh: {
    name: "文档",
    title: {
      read: "含表格和公式的 Word 文档，以及一份 PDF",
      summary: "把摘要写成 Word 文档",
      bad: "只有图片的 PDF，以及旧编码的中文文本",
      create: "由 HTML 生成 Word 文档",
      undo: "撤销替换，文档逐字节恢复",
      editor: "编辑器中的文档：预览修改，并可撤销（脚本模型）",
    },
    read: "读取 offer.docx 和 invoice.pdf",
    row: "| 橡木水斗 | 24 | 19200 元 |",
    total: /合计\s+1410 元/u,
    topic: /水车/u,
    summarize: "把 offer.docx 的摘要写入 summary.docx",
    readAgain: (path: string) => `读取 ${path}`,
    html: "<h1>回复</h1><p>我们订购<b>水车</b>。</p><ul><li>尽快交付</li><li>价格 29200 元</li></ul>",
    create: (html: string) => `创建 reply.docx，内容为“${html}”`,
    reply: /# 回复\n\n我们订购\*\*水车\*\*。\n\n- +尽快交付\n\s*- +价格 29200 元/u,
    replace: "把 offer.docx 的内容替换为“# 报价\n\n已作废。”",
    now: /\]\n# 报价\n\n已作废。\s*$/u,
    undone: (bytes: number) => `撤销之后，offer.docx 恢复为原来的 ${bytes} 字节。`,
    warmer: "把称呼改得更亲切一些。",
    letter: "# 致镇议会\r\n\r\n各位：\r\n我们需要两天时间。",
    greetings: ["各位：", "亲爱的各位朋友："],
    instruction: "更亲切的称呼",
    warm: "称呼已经改得更亲切了。",
    question: /letter\.md/u,
    asks: "服务器询问，并显示：",
    approved: "回答：同意。编辑器收到新的文本，磁盘上的文件保持不变。",
    back: "撤销之后恢复为原来的文本，包括换行符。",
  },
};

/** The demos of this toolkit, by name. */
export const demos: Record<string, Demo> = { documents };

async function readAndSummarize(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const { title, read: request, row, total, topic, summarize: summary, readAgain } = texts[language];
  say(1, title.read, request);
  const read = await turn(server, thread, request, offline);
  ok(read.includes(row), `the table of offer.docx is not there: ${read}`);
  ok(read.includes(String.raw`$\frac{3}{4}$`), `the equation of offer.docx is not there: ${read}`);
  match(read, total, `the text of invoice.pdf is not there: ${read}`);
  say(2, title.summary, summary);
  await turn(server, thread, summary, offline);
  ok(existsSync(join(workspace, "summary.docx")), "summary.docx was not made");
  const back = await turn(server, thread, readAgain("summary.docx"), offline);
  match(back, /the text of a Word document\]\n/u);
  match(back, topic);
}

async function explainBadInput(server: ServerProcess, thread: string, language: Language): Promise<void> {
  const { title, readAgain } = texts[language];
  say(3, title.bad, `${readAgain("scan.pdf")}${language === "zh" ? "；" : "; "}${readAgain("minutes.txt")}`);
  match(await turn(server, thread, readAgain("scan.pdf"), offline), /There is no text in its page.*OCR/u);
  match(await turn(server, thread, readAgain("minutes.txt"), offline), /in GB 18030;[\s\S]*会议纪要/u);
}

async function makeWordDocument(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const { title, html, create, reply, readAgain } = texts[language];
  const request = create(html);
  say(4, title.create, request);
  await turn(server, thread, request, offline);
  equal(readFileSync(join(workspace, "reply.docx")).subarray(0, 2).toString(), "PK", "reply.docx is no Word document");
  const back = await turn(server, thread, readAgain("reply.docx"), offline);
  match(back, reply);
}

async function undoToTheByte(
  server: ServerProcess,
  workspace: string,
  thread: string,
  language: Language,
): Promise<void> {
  const { title, replace: request, now, readAgain, undone } = texts[language];
  say(5, title.undo, request);
  const original = sample("documents", "offer.docx", language);
  await turn(server, thread, request, offline);
  ok(!readFileSync(join(workspace, "offer.docx")).equals(original), "offer.docx was not replaced");
  const replaced = await turn(server, thread, readAgain("offer.docx"), offline);
  match(replaced, now, `offer.docx has something else than what it was replaced with: ${replaced}`);
  const [newest] = await operationsOf(server, thread);
  await undo(server, thread, newest?.operation_id ?? "");
  ok(readFileSync(join(workspace, "offer.docx")).equals(original), "offer.docx is not what it was");
  note(undone(original.length));
}

async function editInEditor(server: ServerProcess, workspace: string, language: Language): Promise<void> {
  const { title, warmer: request, instruction, warm, question: asked, asks, approved, back } = texts[language];
  const { letter: shown, greetings } = texts[language];
  const [before = "", after = ""] = greetings;
  say(6, title.editor, request);
  const wanted = shown.replace(before, after);
  const script: ModelStep[] = [
    {
      toolCalls: [{ name: "edit_current_editor_document", arguments: { content: wanted, instruction } }],
    },
    { text: warm },
  ];
  await withScriptedModel(server, script, {}, async () => {
    const { thread_id: thread } = await server.client.threads.create();
    const context = {
      model: "openai:demo",
      mode: "free_work",
      document: { path: "letter.md", content: shown, unsaved_changes: true },
    };
    await wait(server, thread, { input: { messages: [{ role: "user", content: request }] } }, context);
    const question = await questionOf(server, thread);
    match(question, asked);
    ok(question.includes(`-${before}\\n+${after}`), `the question should show the change: ${question}`);
    note(`${asks}\n-${before}\n+${after}`);
    const edits: z.infer<typeof Edited>[] = [];
    const stream = server.client.runs.stream(thread, "agent", {
      command: { resume: { decisions: [{ type: "approve" }] } },
      context,
      streamMode: ["custom"],
    });
    for await (const { data } of stream) {
      const edited = Edited.safeParse(data);
      if (edited.success) edits.push(edited.data);
    }
    deepEqual(
      edits.map(({ content }) => content),
      [wanted],
      "the editor did not get the new text once",
    );
    note(approved);
    ok(readFileSync(join(workspace, "letter.md")).equals(sample("documents", "letter.md", language)));
    const undone = await undo(server, thread, edits[0]?.operation_id ?? "");
    equal(undone.content, shown, "the undo does not give back the text of before");
    note(back);
  });
}
