/** Shows on a terminal what a command is doing. Shows nothing elsewhere: no log needs a line that is overwritten. */
interface Progress {
  show(text: string): void;
  /** Removes the line. */
  end(): void;
}

const silent: Progress = { show: () => {}, end: () => {} };

/** Shows progress on standard error, when that is a terminal. */
export function startProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  if (!stream.isTTY || process.env["TERM"] === "dumb") return silent;
  const write = (text: string): void => {
    stream.cursorTo(0);
    stream.write(text.slice(0, Math.max(0, stream.columns - 1)));
    stream.clearLine(1);
  };
  let isShown = false;
  return {
    show(text) {
      isShown = true;
      write(text);
    },
    end() {
      if (isShown) write("");
      isShown = false;
    },
  };
}
