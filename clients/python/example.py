"""Says something in a session, hears of it, and builds the request to send to a model: python example.py SESSION"""

import sys

from dagentd_client import Client, DagentdError

with Client() as daemon, daemon.subscribe(types=["session:updated"]) as events:
    try:
        said = daemon.session.add_message(sys.argv[1], "user", "We use PostgreSQL, not SQLite.")
    except DagentdError as error:
        sys.exit(f"{error.message} ({error.hint})")
    for event in events:
        if event["type"] == "session:updated" and said["id"] in event.get("messageIds", []):
            print(event["action"], event["sessionId"])
            break
    request = daemon.session.build_request(sys.argv[1], user_message="Go on.", form="messages")
    print(request["messages"][-1]["content"], request["totalTokens"] > 0)
