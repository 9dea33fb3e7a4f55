"""Operations under torch's names; ``course_lib.autograd`` re-exports them."""
