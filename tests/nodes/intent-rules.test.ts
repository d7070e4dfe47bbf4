import { describe, expect, it } from "vitest";
import { intentByRules } from "../../src/nodes/intent/intent-rules.ts";

const setting = { hasContext: false };

describe("the route of a request, by rules", () => {
  it.each([
    ["thanks!", "reply"],
    ["Thank you so much", "reply"],
    ["Great, thanks!", "reply"],
    ["你好", "reply"],
    ["谢谢！", "reply"],
    ["好的，谢谢", "reply"],
    ["辛苦了", "reply"],
    ["never mind", "reply"],
    ["算了", "reply"],
    ["What is a flip-flop?", "free_work"],
    ["How to describe good weather?", "free_work"],
    ["Why does ice float?", "free_work"],
    ["Why are tests failing?", "free_work"],
    ["explain what AuthService does", "free_work"],
    ["how do people log in", "free_work"],
    ["什么是触发器？", "free_work"],
    ["如何形容好天气", "free_work"],
    ["list the files", "free_work"],
    ["列出文件", "free_work"],
    ["What is in the folder?", "free_work"],
    ["What is a good name for my project?", "free_work"],
    ["What is notes.md about?", "free_work"],
    ["What is the latest version of Node?", "free_work"],
    ["这个文件是什么意思？", "free_work"],
    ["今天有什么新闻", "free_work"],
    ["ok, delete a.txt", "free_work"],
    ["compare a.md and b.md, summarise them and save the result", "free_work"],
    ["比较这两个文件然后总结", "free_work"],
    ["read notes.md and then delete draft.md", "free_work"],
    ["find the budget and change it", "free_work"],
    ["read a.md b.md c.md d.md e.md f.md g.md h.md i.md j.md k.md", "free_work"],
    ["Find where the config is loaded and change the default port", "free_work"],
    ["First I went home, then I slept.", "free_work"],
    ["Make a plan for my holiday in Norway", "free_work"],
    ["What does the project plan say about step 2?", "free_work"],
    ["写一份旅行计划", "free_work"],
    ["x".repeat(3000), "free_work"],
    ["Think it over and then tell me more", "free_work"],
    ["First make a plan, then move the tests to vitest", "plan"],
    ["Please plan it first, then do it", "plan"],
    ["Start with a plan and then rename the module everywhere", "plan"],
    ["Migrate the scripts. Break it down into steps and work through them", "plan"],
    ["先列个计划，再把测试迁移到 vitest", "plan"],
    ["把这个任务拆分成步骤，然后逐一完成", "plan"],
    ["先制定一个详细的计划再动手", "plan"],
  ])("%s goes to %s", (text, route) => {
    expect(intentByRules(text, setting).route).toBe(route);
  });
});

describe("what a request wants", () => {
  it.each([
    ["thanks", "emotional", "full"],
    ["太好了！", "emotional", "full"],
    ["What is a flip-flop?", "information", "full"],
    ["show me notes.md", "action", "view"],
    ["看看 notes.md", "information", "view"],
    ["delete all files in old", "action", "full"],
    ["read only the first page of notes.md", "action", "partial"],
    ["只读取前 3 行", "action", "partial"],
    ["read a.md, then delete b.md", "multi_intent", "full"],
    ["find it and modify it", "multi_intent", "full"],
  ])("%s is %s, %s", (text, kind, extent) => {
    expect(intentByRules(text, { hasContext: true })).toMatchObject({ kind, extent });
  });

  it("knows what matters most, and what goes without saying", () => {
    const read = intentByRules("edit a.md, above all the title, and especially the date", setting);
    expect(read.priorities).toEqual(["the title", "the date"]);
    expect(read.implicit_needs).toEqual(["read the present text before changing it, and keep what was not spoken of"]);
    expect(intentByRules("修改 a.md，尤其是标题", setting).priorities).toEqual(["标题"]);
    expect(intentByRules("list the files", setting)).toMatchObject({ priorities: [], implicit_needs: [] });
  });
});

describe("an unclear request", () => {
  const unclear = [
    "do something",
    "help me write something",
    "Can you fix it?",
    "make it better",
    "please do some research",
    "write a report",
    "I need you to prepare a presentation",
    "帮我做个研究",
    "帮我写一份报告",
    "优化一下",
    "处理一下这个",
    "请帮我改一下吧",
  ];

  it.each(unclear)("is: %s", (text) => {
    expect(intentByRules(text, setting).kind).toBe("unclear");
  });

  it.each(unclear)("is none when anything says what it is about: %s", (text) => {
    expect(intentByRules(text, { hasContext: true }).kind).not.toBe("unclear");
  });

  it.each([
    "help",
    "help me",
    "hello",
    "tidy up",
    "look around",
    "Look at it",
    "write a poem about rain",
    "make a folder",
    "create a.txt",
    "fix the build",
    "summarise notes.md",
    "say hello",
    "what can you do?",
    "research the history of mills",
    "translate good morning",
    "yes",
    "继续",
    "帮我写一首诗",
    "总结 notes.md",
    "写一份关于水磨坊的报告",
    "帮我",
    "是的",
    "列出文件",
    "",
  ])("is not: %j", (text) => {
    expect(intentByRules(text, setting).kind).not.toBe("unclear");
  });
});
