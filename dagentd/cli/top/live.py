"""`dagentd top` on a terminal: what is heard and what is typed, and what is seen of it."""

from __future__ import annotations

from queue import Empty, SimpleQueue

from dagentd.cli import output
from dagentd.cli.top import view
from dagentd.cli.top.feed import Feed
from dagentd.cli.top.screen import Screen
from dagentd.cli.top.state import QUIT, Act, News, State, told, typed

_TICK = 10.0  # seconds after which `3 min ago` is looked at again


def run(state: State) -> None:
    """Until the user quits."""
    screen, heard = Screen(), SimpleQueue[News]()

    def post(news: News) -> None:
        heard.put(news)
        screen.wake()

    feed = Feed(post)
    with screen.taken():
        feed.start()
        try:
            _loop(state, screen, heard, feed)
        finally:
            feed.stop()


def _loop(state: State, screen: Screen, heard: SimpleQueue[News], feed: Feed) -> None:
    plain = not output.is_utf8()
    while True:
        screen.paint(view.screen(state, *screen.size, plain=plain))
        for key in screen.keys(_TICK):
            state, act = typed(state, key)
            if act == QUIT:
                return
            if isinstance(act, Act):
                feed.do(act)
        state = _caught_up(state, heard)


def _caught_up(state: State, heard: SimpleQueue[News]) -> State:
    while True:
        try:
            state = told(state, heard.get_nowait())
        except Empty:
            return state
