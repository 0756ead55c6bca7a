"""Questions about pictures: pictures with questions and answers in, a model that answers out."""
